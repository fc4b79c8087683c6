//! What models and gateways send, in every spelling that was seen.

use rustix::process::Signal;
use scripted_model::{
    CallSpelling, ErrorFraming, Fault, Framing, LineEnd, ReasoningRule, Reply, Scenario, Spelling,
    UsageSpelling,
};
use serde_json::{Value, json};

use crate::{
    local_rig::LocalRig,
    rig::{Streaming, send_signal},
};

#[tokio::test(flavor = "multi_thread")]
async fn ra_34_every_cut_of_two_calls_is_two_calls() {
    let spellings = [
        CallSpelling::Standard,
        CallSpelling::EmptyIds,
        CallSpelling::Nulls,
        CallSpelling::Repeated,
        CallSpelling::NoIndex,
        CallSpelling::NoIndexFirstIdOnly,
        CallSpelling::SameIndex,
        CallSpelling::SparseIndex,
        CallSpelling::OneDelta,
        CallSpelling::Interleaved,
    ];
    for spelling in spellings {
        let write =
            |name: &str| json!({"path": name, "content": format!("the content of {name}, in \"parts\"\n")});
        let reply = Reply::new()
            .call("write_file", &write("a"))
            .call("write_file", &write("b"));
        let scenario = Scenario::new().reply(reply).say("Done.");
        let rig = LocalRig::new(scenario.spelled(Spelling::default().calls(spelling))).await;
        rig.task(&[]).await.ok();
        for name in ["a", "b"] {
            let want = format!("the content of {name}, in \"parts\"\n");
            assert_eq!(rig.read(name), want.as_bytes(), "{spelling:?}");
        }
        assert_eq!(
            (rig.model.requests().len(), rig.answers().len()),
            (2, 2),
            "{spelling:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ra_35_a_call_without_arguments_is_a_call() {
    let rows = [
        (Some(""), true),
        (Some(" "), true),
        (Some("null"), true),
        (None, true),
        (Some("{}"), true),
        (Some("[]"), false),
        (Some("\"x\""), false),
        (Some("{\"path\": "), false),
    ];
    for (arguments, runs) in rows {
        let scenario = Scenario::new()
            .reply(Reply::new().call_raw("ls", arguments))
            .say("Done.");
        let rig = LocalRig::new(scenario).await;
        rig.put("seen", "");
        rig.task(&[]).await.ok();
        let answers = rig.answers();
        assert_eq!(
            (rig.model.requests().len(), answers.len()),
            (2, 1),
            "{arguments:?}"
        );
        assert_eq!(answers[0].contains("seen"), runs, "{arguments:?}: {}", answers[0]);
        assert_eq!(
            answers[0].starts_with("error: "),
            !runs,
            "{arguments:?}: {}",
            answers[0]
        );
    }
}

/// Meets the error in every attempt, and checks that the turn fails with the vendor's words.
async fn quota_inside(after_text: &str, framing: ErrorFraming) {
    let fault = Fault::ErrorInside {
        error: json!({"message": "quota used up", "code": 429}),
        after_text: after_text.to_owned(),
        framing,
    };
    let scenario = (0..8).fold(Scenario::new(), |scenario, number| {
        scenario.fault(number, fault.clone())
    });
    let rig = LocalRig::new(scenario.say("Never said.")).await;
    let done = rig.task(&[]).await;
    assert!(matches!(done.code, Some(1 | 6)), "{fault:?}: {done:#?}");
    let message = done.result["outcome"]["message"].as_str().unwrap();
    assert!(message.contains("quota used up"), "{message}");
    assert_eq!(done.result["result"], after_text, "{fault:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ra_36_an_error_inside_an_answer_is_an_error() {
    tokio::join!(
        quota_inside("", ErrorFraming::Data),
        quota_inside("", ErrorFraming::Event),
        quota_inside("", ErrorFraming::Json),
        quota_inside("Half an answer", ErrorFraming::Data),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn ra_36_a_page_is_no_answer() {
    let page = Fault::WrongType {
        content_type: "text/html".to_owned(),
        body: "<html><title>Log in to the hotel</title></html>".to_owned(),
    };
    let scenario = Scenario::new().fault(0, page.clone()).fault(1, page);
    let rig = LocalRig::new(scenario.say("Never said.")).await;
    let ran = rig.run(&["run", "say hello"]).await;
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:#?}");
    assert!(
        ran.stderr.contains("text/html") && ran.stderr.contains("hint: "),
        "{ran:#?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn ra_37_usage_is_counted_once_wherever_it_stands() {
    let usage = async |spelling: UsageSpelling| -> Value {
        let scenario = Scenario::new().call("ls", &json!({})).say("Some words.");
        let rig = LocalRig::new(scenario.spelled(Spelling::default().usage(spelling))).await;
        let done = rig.task(&[]).await.ok();
        assert_eq!(done.result["result"], "Some words.", "{spelling:?}");
        done.result["usage"]["output_tokens"].clone()
    };
    let want = usage(UsageSpelling::ClosingChunk).await;
    assert!(want.as_u64().unwrap() > 0);
    for spelling in [
        UsageSpelling::ClosingChunkWithoutChoices,
        UsageSpelling::NullElsewhere,
        UsageSpelling::OnFinish,
        UsageSpelling::EmptyFirstChunk,
        UsageSpelling::EveryChunk,
    ] {
        assert_eq!(usage(spelling).await, want, "{spelling:?}");
    }
    assert_eq!(usage(UsageSpelling::Off).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn ra_38_every_spelling_of_the_stream_says_the_same() {
    const TEXT: &str = "Words, 汉字, 👩\u{200d}💻 and \"quotes\".";
    let plain = Spelling::default;
    let framings = [
        Framing::NoSpace,
        Framing::Comments,
        Framing::ManyDataLines,
        Framing::ByteOrderMark,
        Framing::OtherFields,
        Framing::NoFinalBlankLine,
        Framing::NoDone,
    ];
    let line_ends = [LineEnd::Lf, LineEnd::CrLf, LineEnd::Cr];
    let mut spellings: Vec<Spelling> = framings.map(|framing| plain().framed(framing)).to_vec();
    spellings.extend(line_ends.map(|line_end| plain().lines(line_end).writes(1)));
    spellings.push(
        plain()
            .framed(Framing::ManyDataLines)
            .framed(Framing::Comments)
            .lines(LineEnd::CrLf)
            .writes(3),
    );
    for spelling in spellings {
        let call = json!({"path": "目录/文件 一", "content": TEXT});
        let scenario = Scenario::new().call("write_file", &call).say(TEXT);
        let rig = LocalRig::new(scenario.spelled(spelling.clone())).await;
        let done = rig.task(&[]).await.ok();
        assert_eq!(done.result["result"], TEXT, "{spelling:?}");
        assert_eq!(rig.read("目录/文件 一"), TEXT.as_bytes(), "{spelling:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ra_39_thoughts_go_back_where_they_are_wanted_and_only_there() {
    let rows = [
        (ReasoningRule::Required, "deepseek"),
        (ReasoningRule::Refused, "none"),
    ];
    for (rule, protocol) in rows {
        let think = |thought: &str| Reply::new().think(thought).call("ls", &json!({}));
        let scenario = Scenario::new()
            .reply(think("First."))
            .call("ls", &json!({}))
            .reply(think("Third."))
            .say("Done.")
            .reasoning(rule);
        let rig = LocalRig::new(scenario).await;
        let config = std::fs::read_to_string(rig.config_file()).unwrap();
        let model = "model = \"m\"\n";
        rig.replace_config(&config.replace(model, &format!("{model}reasoning_protocol = \"{protocol}\"\n")));
        let session = rig.task(&[]).await.ok().session();
        rig.model.push(Reply::new().say("Still here."));
        rig.task(&["--resume", &session]).await.ok();
        assert_eq!(rig.model.refusals(), [""; 0], "{rule:?}");
    }
}

/// Starts a run, waits until the model has the request, and interrupts.
async fn interrupted(rig: &LocalRig) -> Streaming {
    let run = rig.start(&["run", "--output-format", "stream-json", "wait"]);
    rig.asked(1).await;
    run
}

#[tokio::test(flavor = "multi_thread")]
async fn ra_40_a_silent_model_can_be_left_at_any_time() {
    let faults = [
        Fault::Silent,
        Fault::Stall { after: 0 },
        Fault::Stall { after: 200 },
        Fault::CommentsOnly { every_ms: 20 },
    ];
    for fault in faults {
        let rig = LocalRig::new(Scenario::new().fault(0, fault.clone()).say("Never said.")).await;
        let run = interrupted(&rig).await;
        send_signal(run.child.id().unwrap(), Signal::INT);
        let (lines, status, stderr) = run.finish().await;
        assert_eq!(status.code(), Some(130), "{fault:?}: {stderr}");
        let result = lines.last().unwrap();
        assert_eq!(
            (&result["type"], &result["exit_code"]),
            (&json!("result"), &json!(130)),
            "{fault:?}"
        );
        assert_eq!(rig.model.requests().len(), 1, "{fault:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ra_40_a_slow_but_steady_answer_is_never_cut() {
    let trickle = Fault::Trickle {
        bytes: 40,
        every_ms: 5,
    };
    let text = "word ".repeat(60);
    let rig = LocalRig::new(Scenario::new().fault(0, trickle).say(text.trim())).await;
    let done = rig.task(&[]).await.ok();
    assert_eq!(done.result["result"], text.trim());
    assert_eq!(rig.model.requests().len(), 1);
}
