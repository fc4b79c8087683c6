//! Scripts about whose credentials models are asked with.

use super::check;

#[test]
fn credentials_change_when_no_turn_runs() {
    check(
        "
        credentials host =>
        credentials broker => +credentials broker; use broker; sync
        credentials broker =>
        submit a fix => +submitted 1; sync; reply 3; +started 1; start turn 1 with 1 messages, item 1
        credentials host =>
        submit b more => +submitted 2; sync; reply 5
        end 1 => +ended 1 Completed; sync; +credentials host; use host; sync; +started 2; start turn 2 with 2 messages, item 1
        credentials broker =>
        credentials host =>
        end 2 => +ended 2 Completed; sync
        ",
    );
}

#[test]
fn a_turn_that_waits_for_credentials_says_so_and_can_be_stopped() {
    let mut run = check(
        "
        submit a fix => +submitted 1; sync; reply 2; +started 1; start turn 1 with 1 messages, item 1
        wait 1 => +waiting credentials
        go-on 1 => +went on
        text 1 1 hel => show 0+hel; arm Checkpoint 2
        discard 1 1 => +discarded 1
        again 1 => +asked again
        wait 1 => +waiting credentials
        cancel b 1 => +cancel 1; sync; reply 9; stop turn 1
        ",
    );
    // A daemon that is killed while a request waits leaves a cut-off turn, and asks nothing again.
    let printed = run.crash();
    assert_eq!(printed, ["+ended 1 Cancelled"]);
    assert_eq!(run.run("opened"), "");
}
