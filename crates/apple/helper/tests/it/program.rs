//! The real helper program, as far as this machine can run it.

use crate::support::{ask, never, request, signal, wait_until};
use openagents_apple::{
    FoundationModels,
    availability::Facts,
    protocol::{Command, MAX_LINE, Report},
};
use openagents_core::{
    helper::{VERSION, write_line},
    model::{Availability, ModelError, ModelRequest},
};
use std::{
    io::{BufRead, BufReader, Write},
    process::Stdio,
};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_openagents-apple");

#[test]
fn helper_reports_availability_and_exits_with_input() {
    let mut child = std::process::Command::new(PROGRAM)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut report = || serde_json::from_str::<Report>(&lines.next().unwrap().unwrap()).unwrap();
    let Report::Hello { version, unavailable } = report() else { panic!("no hello") };
    assert_eq!(version, VERSION);
    if let Some(reason) = Facts::of_this_machine().unavailability() {
        assert_eq!(unavailable, Some(reason));
    }
    write_line(&mut input, &Command::Availability { id: 1 }).unwrap();
    assert_eq!(report(), Report::Availability { id: 1, unavailable: unavailable.clone() });

    for (line, id) in [
        (&b"{"[..], None),
        (b"\xff\xfe\x00", None),
        (b"[]", None),
        (b"{\"command\":\"fly\",\"id\":5}", Some(5)),
        (b"{\"command\":\"respond\",\"id\":7,\"request\":{\"messages\":7}}", Some(7)),
    ] {
        input.write_all(line).unwrap();
        input.write_all(b"\n").unwrap();
        match report() {
            Report::Failed { id: answered, error: ModelError::Failed(_) } => assert_eq!(answered, id),
            other => panic!("{other:?}"),
        }
    }
    input.write_all(&vec![b'x'; MAX_LINE + 1]).unwrap();
    input.write_all(b"\n").unwrap();
    assert!(matches!(report(), Report::Failed { id: None, .. }));
    // Commands for unknown answers are ignored.
    write_line(&mut input, &Command::Cancel { id: 99 }).unwrap();
    write_line(&mut input, &Command::ToolResult { id: 99, call_id: "c".to_owned(), text: "t".to_owned() })
        .unwrap();
    if let Some(reason) = unavailable {
        write_line(&mut input, &Command::Respond { id: 8, request: Box::new(ModelRequest::default()) })
            .unwrap();
        assert_eq!(
            report(),
            Report::Failed { id: Some(8), error: ModelError::Unavailable(reason.to_string()) }
        );
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn client_restarts_killed_helper() {
    let models = FoundationModels::at(PROGRAM);
    let Availability::Unavailable(reason) = models.check_availability(&never()) else { return };
    let first = models.process_id().unwrap();
    assert_eq!(
        ask(&models, &request("hi", Vec::new()), &never()).0,
        Err(ModelError::Unavailable(reason.clone()))
    );
    assert_eq!(models.process_id(), Some(first), "one process answers all");
    signal("KILL", first);
    wait_until("its end is noticed", || models.process_id().is_none());
    assert_eq!(models.check_availability(&never()), Availability::Unavailable(reason));
    let second = models.process_id().unwrap();
    assert_ne!(first, second);
    assert!(!signal("0", first), "a zombie is left");
    drop(models);
    assert!(!signal("0", second));
}
