//! Runs HTTP contract cases against anything that answers HTTP requests.
//!
//! The form of a case is described at the head of each file in `tests/cases/`. The runner knows
//! nothing of the server: it is given a tower service.

mod answer;
pub(crate) mod case;
mod expect;
mod target;
mod words;

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde_json::Value;

pub(crate) use case::{Case, contract};
pub(crate) use target::Target;

use answer::Answer;
use words::Words;

/// Longest time a case may take.
const CASE_WITHIN: Duration = Duration::from_secs(120);
/// Longest time an answer may take that is no watch.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// How often an expectation is looked at again.
const POLL: Duration = Duration::from_millis(25);

/// Runs one case; the error says which step did not go as expected, and shows the answer.
pub(crate) async fn run(case: &Case, target: Target) -> Result<(), String> {
    let run = Run::begin(case, target);
    match tokio::time::timeout(CASE_WITHIN, run).await {
        Ok(result) => result,
        Err(_) => Err(format!("not finished after {CASE_WITHIN:?}")),
    }
}

/// A case that is being run.
struct Run {
    target: Target,
    words: Words,
}

impl Run {
    async fn begin(case: &Case, target: Target) -> Result<(), String> {
        let mut run = Self {
            target,
            words: Words::default(),
        };
        run.make_namespace(case).await?;
        for object in &case.objects {
            run.create(object).await?;
        }
        if case.steps.len() != case.expected.len() {
            return Err("a case has one expectation for each step".into());
        }
        for (index, (step, expected)) in case.steps.iter().zip(&case.expected).enumerate() {
            let result = run.step(step, expected).await;
            result.map_err(|problem| format!("step {index} {}:\n{problem}", headline(step)))?;
        }
        Ok(())
    }

    async fn make_namespace(&mut self, case: &Case) -> Result<(), String> {
        let name = format!("case-{}", case.id);
        let name = name
            .get(..50)
            .unwrap_or(&name)
            .trim_end_matches('-')
            .to_owned();
        let body = serde_json::json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name},
        });
        let answer = self.target.post("/api/v1/namespaces", &body).await?;
        answer.expect_code(201, "the case's namespace")?;
        self.words.set("ns", &name.into());
        Ok(())
    }

    async fn create(&mut self, object: &Value) -> Result<(), String> {
        let object = self.words.fill(object);
        let path = case::collection_of(&object, self.words.text("ns"))?;
        let answer = self.target.post(&path, &object).await?;
        answer.expect_code(201, &format!("given object {object}"))?;
        let metadata = &answer.body["metadata"];
        let name = metadata["name"].as_str().unwrap_or_default();
        self.words.set(&format!("{name}.uid"), &metadata["uid"]);
        self.words
            .set(&format!("{name}.rv"), &metadata["resourceVersion"]);
        Ok(())
    }

    async fn step(&mut self, step: &Value, expected: &Value) -> Result<(), String> {
        if let Some(seconds) = step.get("pause") {
            tokio::time::sleep(seconds_of(seconds)).await;
            return Ok(());
        }
        if let Some(revision) = step.get("compact") {
            let revision = self.words.fill(revision);
            let revision = revision.as_str().and_then(|it| it.parse().ok());
            return self
                .target
                .forget(revision.ok_or("compact names a version")?);
        }
        for turn in 0..step["repeat"].as_u64().unwrap_or(1) {
            self.words.set("i", &turn.to_string().into());
            self.request(step, expected).await?;
        }
        Ok(())
    }

    /// One request, or the same again until it or for as long as it answers as expected.
    async fn request(&mut self, step: &Value, expected: &Value) -> Result<(), String> {
        let start = Instant::now();
        let until = step.get("until").map(|it| start + seconds_of(it));
        let hold = step.get("hold").map(|it| start + seconds_of(it));
        loop {
            let filled = self.words.fill(step);
            let answer = self.ask(&filled).await?;
            let problems = expect::problems(&answer, &self.words.fill(expected));
            let now = Instant::now();
            match (problems.is_empty(), until, hold) {
                (true, _, Some(end)) if now < end => {}
                (false, Some(end), _) if now < end => {}
                (true, ..) => return self.save(&filled, &answer),
                (false, ..) => return Err(report(&problems, &answer)),
            }
            tokio::time::sleep(POLL).await;
        }
    }

    async fn ask(&mut self, step: &Value) -> Result<Answer, String> {
        match step["watch"].as_str() {
            Some(path) => self.watch(path, step).await,
            None => {
                let answer = async { self.target.request(step).await?.whole().await };
                let answer = tokio::time::timeout(ANSWER_WITHIN, answer).await;
                answer.map_err(|_| format!("no answer within {ANSWER_WITHIN:?}"))?
            }
        }
    }

    async fn watch(&mut self, path: &str, step: &Value) -> Result<Answer, String> {
        let seconds = step.get("seconds").and_then(Value::as_u64).unwrap_or(2);
        let separator = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{separator}watch=true&timeoutSeconds={seconds}");
        let begun = self.target.get(&path, step).await?;
        for request in step["during"].as_array().into_iter().flatten() {
            let answer = self.target.request(request).await?.whole().await?;
            if !(200..300).contains(&answer.code) {
                return Err(format!(
                    "{} during the watch:\n{}",
                    headline(request),
                    answer.show()
                ));
            }
        }
        let within = Duration::from_secs(seconds + 20);
        let answer = tokio::time::timeout(within, begun.whole()).await;
        answer.map_err(|_| format!("the watch has not ended within {within:?}"))?
    }

    fn save(&mut self, step: &Value, answer: &Answer) -> Result<(), String> {
        for (word, pointer) in step["save"].as_object().into_iter().flatten() {
            let pointer = pointer.as_str().unwrap_or_default();
            let value = answer.body.pointer(pointer);
            let value = value.ok_or_else(|| format!("nothing at {pointer} to save"))?;
            self.words.set(word, value);
        }
        Ok(())
    }
}

fn seconds_of(value: &Value) -> Duration {
    Duration::from_secs_f64(value.as_f64().unwrap_or_default())
}

/// What a step does, in one line.
fn headline(step: &Value) -> String {
    let known = ["do", "watch", "pause", "compact"];
    let found = known
        .iter()
        .find_map(|key| step.get(key).map(|value| format!("{key}: {value}")));
    found.unwrap_or_else(|| step.to_string())
}

fn report(problems: &[String], answer: &Answer) -> String {
    let mut text = String::new();
    for problem in problems {
        writeln!(text, "  - {problem}").expect("a String takes all text");
    }
    text + &answer.show()
}
