//! Tests of `queue`.

use super::*;

fn queue() -> Queue<&'static str> {
    Queue::new(Duration::from_millis(100), Duration::from_secs(1))
}

#[tokio::test(start_paused = true)]
async fn a_key_is_never_worked_on_twice_at_a_time() {
    let q = queue();
    q.add("a");
    q.add("a");
    q.add("b");
    assert_eq!(q.len(), 2);
    assert_eq!(q.next().await, Some("a"));
    q.add("a");
    assert_eq!(q.next().await, Some("b"));
    assert!(q.is_empty());
    q.done(&"a");
    assert_eq!(q.next().await, Some("a"));
    q.done(&"a");
    assert!(q.is_empty());
}

#[tokio::test(start_paused = true)]
async fn delayed_keys_come_in_time_and_an_add_overtakes_them() {
    let q = queue();
    let start = Instant::now();
    q.add_after("late", Duration::from_secs(5));
    q.add_after("soon", Duration::from_secs(1));
    q.add_after("soon", Duration::from_secs(3));
    assert_eq!(q.next().await, Some("soon"));
    assert_eq!(start.elapsed().as_secs(), 1);
    q.add("late");
    assert_eq!(q.next().await, Some("late"));
    assert_eq!(start.elapsed().as_secs(), 1);
    q.done(&"late");
    assert!(q.is_empty());
}

#[tokio::test(start_paused = true)]
async fn failures_back_off_until_forgotten() {
    let q = queue();
    let first = q.retry("a");
    assert!(first <= Duration::from_millis(100));
    assert_eq!(q.next().await, Some("a"));
    q.done(&"a");
    let second = q.retry("a");
    assert!(second >= Duration::from_millis(100) && second <= Duration::from_millis(200));
    q.forget(&"a");
    assert!(q.retry("a") <= Duration::from_millis(100));
}

#[tokio::test(start_paused = true)]
async fn every_worker_wakes_and_all_end() {
    let q = queue();
    let workers: Vec<_> = (0..4)
        .map(|_| {
            let q = q.clone();
            tokio::spawn(async move {
                let mut seen = 0;
                while let Some(key) = q.next().await {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    q.done(&key);
                    seen += 1;
                }
                seen
            })
        })
        .collect();
    for key in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        q.add(key);
    }
    tokio::time::sleep(Duration::from_millis(2500)).await;
    q.close();
    let mut seen = Vec::new();
    for worker in workers {
        seen.push(worker.await.unwrap());
    }
    assert_eq!(seen, [2, 2, 2, 2]);
}
