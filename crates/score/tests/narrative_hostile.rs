//! The narrative check on texts that nobody meant for it: huge, malformed, or in another language.

#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests")]

use std::time::{Duration, Instant};

use mcprove_score::agent::narrative::{NarrativeBlock, NarrativeReport, score_narrative};
use mcprove_trace::ToolCall;
use serde_json::json;

/// Bytes of a text that is read at once where the time grows with its length, and in minutes where it
/// grows with the square of it.
const LONG: usize = 600_000;

/// How long reading it may take; about a second is enough.
const DEADLINE: Duration = Duration::from_mins(2);

fn read(text: &str) -> NarrativeReport {
    let args = json!({ "status": "open", "is": "x", "a": 1, "title": "Login", "total": 3 });
    let call = ToolCall {
        name: "get_issue".into(),
        args: args.into(),
        ..ToolCall::default()
    };
    score_narrative(text, &[call], &NarrativeBlock::default())
}

#[test]
fn the_time_grows_with_the_length_and_not_with_its_square() {
    for unit in ["very ", "is ", "status is now ", "`a ``b "] {
        let text = format!("I {}", unit.repeat(LONG / unit.len()));
        let began = Instant::now();
        read(&text);
        let took = began.elapsed();
        assert!(took < DEADLINE, "{unit:?}: {took:?}");
    }
}

#[test]
fn a_megabyte_of_anything_is_read() {
    let length = 1_000_000;
    for text in [
        "a".repeat(length),
        "(".repeat(length),
        "`".repeat(length),
        "**".repeat(length / 2),
        "> ".repeat(length / 2),
        "#".repeat(length),
        "\n".repeat(length),
        "👩‍👩‍👧‍👦".repeat(length / 25),
        "İ".repeat(length / 2),
        "a-".repeat(length / 2),
        "http://".repeat(length / 7),
        "```\n".repeat(length / 4),
    ] {
        let report = read(&text);
        assert_eq!((report.claimed_but_absent, report.arg_mismatch), (0, 0));
    }
    let nested = format!("{}I created it{}", "(a ".repeat(20_000), ")".repeat(20_000));
    assert_eq!(read(&nested).claimed_but_absent, 1);
    let indented = format!("{}- I created the branch.", "> ".repeat(20_000));
    assert_eq!(read(&indented).claimed_but_absent, 0, "a quotation");
}

#[test]
fn marks_that_cannot_be_seen_hide_nothing() {
    for text in [
        "I\u{a0}created\u{a0}the\u{202f}branch.",
        "\u{feff}I created the branch.\r\n",
        "I \u{200b}created the branch",
        "I’ve created the branch",
        "I ***created*** the __branch__.",
    ] {
        assert_eq!(read(text).claimed_but_absent, 1, "{text:?}");
    }
}

#[test]
fn another_language_claims_nothing_and_states_no_value() {
    for text in [
        "Ich habe das Ticket geschlossen und dem Team gemailt. Status: geschlossen. Total: viel.",
        "Die Post wurde zugestellt, das Set ist komplett, und der Patch war erfolgreich.",
        "Das Update wurde installiert. Was noch fehlt: der Merge des Branches.",
        "J'ai créé le ticket et envoyé un e-mail à l'équipe. Le total est correct.",
        "On a mis à jour le post et le set de données ; l'édition est terminée.",
        "He creado el ticket y he enviado el correo. He set el total a 5.",
        "As alterações foram salvas e o set de dados está pronto. Total: muito.",
        "I file sono stati caricati. I post sono pubblicati e i set di dati aggiornati.",
        "I set sono pronti e i drop previsti. I patch note sono qui.",
        "Ik heb het ticket gesloten en de post verstuurd. Het bestand was leeg.",
        "Vi sendte posten, og filen er slettet. Status er lukket.",
        "Utworzyłem zgłoszenie i wysłałem e-mail. Status: zamknięte.",
        "Я создал задачу и отправил письмо. Status: закрыт.",
        "チケットを作成し、メールを送信しました。status は closed です。",
        "我已创建工单并发送了邮件。status：已关闭。",
        "تم إنشاء التذكرة وإرسال البريد الإلكتروني.",
        "Kaydı oluşturdum ve e-postayı gönderdim. İŞLEM TAMAM.",
    ] {
        let report = read(text);
        assert_eq!(report.claimed, [""; 0], "{text}");
        assert_eq!(report.arg_mismatch, 0, "{text}");
    }
}

#[test]
fn english_beside_another_language_is_still_read() {
    for text in [
        "¡Listo! I created the branch for you.",
        "I created the branch. He creado la rama y he enviado el correo con los cambios.",
        "Branch created. Müller, Zoë and the café team can see it.",
        "Ticket closed. Müller notified.",
    ] {
        assert_eq!(read(text).claimed_but_absent, 1, "{text}");
    }
}
