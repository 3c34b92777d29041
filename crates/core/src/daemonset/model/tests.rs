//! Random histories: the index and the model give the same plans, and the laws hold.

mod world;

use super::*;
use crate::daemonset::Policy;
use crate::daemonset::tally::Tally;
use alloc::format;
use alloc::vec;
use proptest::prelude::*;
use world::{Op, World};

fn ops(longest: usize) -> impl Strategy<Value = Vec<Op>> {
    let place = (0..4_u8, 0..3_u8, any::<bool>());
    let op = prop_oneof![
        4 => place.prop_map(|(node, taint, zone)| Op::Node { node, taint, zone }),
        1 => (0..4_u8).prop_map(Op::RemoveNode),
        1 => (0..4_u8).prop_map(Op::ReplaceNode),
        2 => (0..4_u8, 0..4_u8, 0..6_u8).prop_map(|(node, hash, kind)| Op::ForeignPod { node, hash, kind }),
        3 => (any::<u8>(), 0..4_u8).prop_map(|(pod, phase)| Op::Phase { pod, phase }),
        6 => (any::<u8>(), any::<bool>()).prop_map(|(pod, ready)| Op::Ready { pod, ready }),
        2 => any::<u8>().prop_map(Op::DeletePod),
        3 => any::<u8>().prop_map(Op::RemovePod),
        3 => any::<u8>().prop_map(Op::Bind),
        1 => (any::<u8>(), any::<bool>()).prop_map(|(pod, matches)| Op::Relabel { pod, matches }),
        1 => any::<u8>().prop_map(Op::ShowAgain),
        2 => (0..3_u8).prop_map(Op::Template),
        1 => (0..6_u8).prop_map(Op::Strategy),
        1 => (0..4_u8, 0..4_u8).prop_map(|(data, kind)| Op::ForeignRevision { data, kind }),
        1 => any::<u8>().prop_map(Op::RemoveRevision),
        3 => (-3..20_i8).prop_map(Op::Clock),
        8 => (0..9_u8, any::<bool>()).prop_map(|(writes, late)| Op::Act { writes, late }),
        4 => Just(Op::Deliver),
        1 => Just(Op::Restart),
    ];
    prop::collection::vec(op, 1..longest)
}

/// Lists without order are sorted, so that only their content counts.
fn normal(mut plan: Plan) -> Plan {
    plan.deletes
        .sort_by(|a, b| (&a.node, &a.pod.name).cmp(&(&b.node, &b.pod.name)));
    plan.creates.sort_by(|a, b| a.node.cmp(&b.node));
    plan.removals
        .sort_by(|a, b| (&a.node, &a.pod).cmp(&(&b.node, &b.pod)));
    plan.events.sort_by(|a, b| a.message.cmp(&b.message));
    plan.holds.sort_by_key(|hold| format!("{hold:?}"));
    plan
}

fn fleet_plan(world: &mut World) -> Plan {
    let now = world.view.now;
    world.fleet.advance(now);
    normal(crate::daemonset::plan(
        &world.fleet,
        now,
        &Policy::default(),
    ))
}

fn check_equal(world: &mut World) -> Result<(), TestCaseError> {
    let mut ours = fleet_plan(world);
    world.sync_view();
    let wanted = normal(plan(&world.view));
    if world.view.unseen_writes > 0 {
        // When patience with unseen writes ends is the index's matter.
        ours.next = wanted.next;
    }
    prop_assert_eq!(&ours, &wanted, "left: the index, right: the model");
    check_laws(world, &ours)
}

fn check_laws(world: &World, plan: &Plan) -> Result<(), TestCaseError> {
    let view = &world.view;
    for create in &plan.creates {
        let node = view.nodes.get(&*create.node);
        let wanted = node.is_some_and(|node| judge(&view.set, node).0);
        prop_assert!(wanted, "a pod for {} that does not want it", create.node);
        let pods = pods_of(view, &create.node);
        let live = pods
            .iter()
            .filter(|p| !p.metadata.is_deleting() && !p.status.phase.is_terminal());
        let room = if view.set.spec.update_strategy.allows_surge() {
            2
        } else {
            1
        };
        prop_assert!(
            live.count() < room,
            "more than {room} live pods on {}",
            create.node
        );
    }
    let outdated = plan
        .deletes
        .iter()
        .filter(|d| d.reason == DeleteReason::Outdated)
        .count();
    if outdated > 0 {
        let budget = world.budget();
        let down = view.nodes.iter().filter(|(name, node)| {
            let pods = pods_of(view, name);
            let up = pods
                .iter()
                .any(|p| !p.metadata.is_deleting() && is_available(view, p));
            judge(&view.set, node).0 && !up
        });
        let down = down.count() + outdated;
        prop_assert!(down <= budget, "{down} down of {budget} allowed");
    }
    Ok(())
}

fn check_recount(world: &World) -> Result<(), TestCaseError> {
    let mut counted = Tally::default();
    for (name, slot) in world.fleet.slots() {
        counted.add(name, &slot.facts(world.fleet.rules(), world.fleet.now()));
    }
    prop_assert_eq!(
        world.fleet.tally(),
        &counted,
        "the tally is the sum of the slots"
    );
    if world.view.former.is_empty() {
        let fresh = world.rebuilt();
        prop_assert_eq!(
            fresh.tally(),
            world.fleet.tally(),
            "the order of events has no meaning"
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn the_index_plans_what_the_model_plans(ops in ops(60)) {
        let mut world = World::new();
        for op in &ops {
            world.apply(op);
            check_equal(&mut world)?;
        }
        check_recount(&world)?;
    }

    #[test]
    fn whatever_happened_the_fleet_settles(ops in ops(40)) {
        let mut world = World::new();
        for op in &ops {
            world.apply(op);
        }
        world.apply(&Op::Deliver);
        for _ in 0..120 {
            let plan = fleet_plan(&mut world);
            world.sync_view();
            check_laws(&world, &plan)?;
            world.carry_out(&plan, usize::MAX, false);
            let moved = world.live_on();
            if plan.is_idle() && plan.next.is_none() && !moved {
                return check_settled(&world);
            }
        }
        let plan = fleet_plan(&mut world);
        prop_assert!(false, "still planning {plan:?}");
    }
}

fn check_settled(world: &World) -> Result<(), TestCaseError> {
    let view = &world.view;
    for (name, node) in &view.nodes {
        let pods = pods_of(view, name);
        let (should_run, should_continue) = judge(&view.set, node);
        if should_run {
            prop_assert_eq!(pods.len(), 1, "pods of {}", name);
            let rolling = view.set.spec.update_strategy.is_rolling();
            prop_assert!(
                !rolling || is_updated(view, &pods[0]),
                "the pod of {} is old",
                name
            );
        } else if !should_continue {
            prop_assert!(pods.is_empty(), "pods on {} that may not stay", name);
        }
    }
    prop_assert_eq!(&view.set.status, &status(view), "the status is a recount");
    Ok(())
}

#[test]
fn a_pod_that_always_fails_makes_no_hot_loop() {
    for strategy in 0..6 {
        let mut world = World::new();
        world.apply(&Op::Strategy(strategy));
        world.apply(&Op::Node {
            node: 0,
            taint: 0,
            zone: true,
        });
        let mut created = 0;
        // A minute in steps of 100 ms; every pod fails as soon as it is there.
        for _ in 0..600 {
            let plan = fleet_plan(&mut world);
            created += plan.creates.len();
            world.carry_out(&plan, usize::MAX, false);
            world.fail_all();
            world.pass_millis(100);
        }
        assert!(
            (5..=7).contains(&created),
            "{created} pods with strategy {strategy}"
        );
    }
}

#[test]
fn a_node_made_anew_gets_a_new_pod() {
    let mut world = World::new();
    world.apply(&Op::Node {
        node: 0,
        taint: 0,
        zone: true,
    });
    world.settle();
    let before = pods_of(&world.view, "n0")[0].metadata.uid.clone();
    world.apply(&Op::ReplaceNode(0));
    let plan = fleet_plan(&mut world);
    assert_eq!(plan.deletes.len(), 1);
    assert_eq!(plan.deletes[0].reason, DeleteReason::NodeReplaced);
    world.settle();
    assert_ne!(pods_of(&world.view, "n0")[0].metadata.uid, before);
}

#[test]
fn a_taint_changes_the_status_at_once() {
    let mut world = World::new();
    for node in 0..3 {
        world.apply(&Op::Node {
            node,
            taint: 0,
            zone: true,
        });
    }
    world.settle();
    world.apply(&Op::Node {
        node: 2,
        taint: 1,
        zone: true,
    });
    let plan = fleet_plan(&mut world);
    let status = plan.status.clone().unwrap();
    assert_eq!(
        (status.desired_number_scheduled, status.number_misscheduled),
        (2, 1)
    );
    assert!(!plan.acts());
}

#[test]
fn unseen_writes_hold_everything_but_the_status() {
    let mut world = World::new();
    world.apply(&Op::Node {
        node: 0,
        taint: 0,
        zone: true,
    });
    world.apply(&Op::Act {
        writes: 9,
        late: true,
    });
    assert!(!fleet_plan(&mut world).acts());
    world.apply(&Op::Clock(10));
    assert_eq!(fleet_plan(&mut world).creates, vec![]);
    world.apply(&Op::Deliver);
    assert_eq!(fleet_plan(&mut world).creates, vec![]);
    assert_eq!(
        pods_of(
            {
                world.sync_view();
                &world.view
            },
            "n0"
        )
        .len(),
        1
    );
}
