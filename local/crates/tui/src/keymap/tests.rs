//! The table holds together.

use std::collections::HashSet;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::*;

fn names<A>(table: &[Binding<A>]) -> Vec<(Context, &'static str)> {
    table
        .iter()
        .flat_map(|binding| binding.keys.iter().map(|key| (binding.context, *key)))
        .collect()
}

#[test]
fn every_name_is_a_key_and_no_two_bindings_collide() {
    let mut all = names(defaults::SCREEN);
    all.extend(names(defaults::EDITS));
    all.extend(names(defaults::LISTS));
    let mut seen = HashSet::new();
    for (context, name) in all {
        let key: Key = name.parse().unwrap();
        assert!(
            seen.insert((context, key)),
            "{name} is bound twice in {context:?}"
        );
    }
}

#[test]
fn no_key_of_the_screen_hides_one_of_the_composer() {
    let screen: HashSet<Key> = names(defaults::SCREEN)
        .into_iter()
        .map(|(_, name)| name.parse().unwrap())
        .collect();
    for (_, name) in names(defaults::EDITS) {
        assert!(
            !screen.contains(&name.parse().unwrap()),
            "{name} would never reach the composer"
        );
    }
    let everywhere = |context| context == Context::Overlay;
    let everywhere: HashSet<Key> = names(defaults::SCREEN)
        .into_iter()
        .filter(|(context, _)| everywhere(*context))
        .map(|(_, name)| name.parse().unwrap())
        .collect();
    for (_, name) in names(defaults::LISTS) {
        assert!(
            !everywhere.contains(&name.parse().unwrap()),
            "{name} would never reach a list"
        );
    }
}

#[test]
fn keys_find_their_actions() {
    let keymap = Keymap::default();
    let key = |code, modifiers| KeyEvent::new(code, modifiers);
    let ctrl = |char| key(KeyCode::Char(char), KeyModifiers::CONTROL);
    assert_eq!(keymap.action(Context::Main, ctrl('c')), Some(Action::Interrupt));
    assert_eq!(
        keymap.action(Context::Overlay, ctrl('r')),
        Some(Action::RetryLink)
    );
    assert_eq!(keymap.action(Context::Overlay, ctrl('d')), None);
    assert_eq!(keymap.action(Context::Main, ctrl('d')), Some(Action::EndOfInput));
    let back_tab = key(KeyCode::BackTab, KeyModifiers::SHIFT);
    assert_eq!(keymap.action(Context::Main, back_tab), Some(Action::CyclePreset));
    assert_eq!(keymap.edit(ctrl('w')), Some(Edit::Kill(Move::BlankLeft)));
    assert_eq!(keymap.edit(ctrl('7')), Some(Edit::Undo));
    assert_eq!(
        keymap.edit(key(KeyCode::Enter, KeyModifiers::CONTROL)),
        Some(Edit::Send)
    );
    assert_eq!(
        keymap.list(key(KeyCode::Tab, KeyModifiers::NONE)),
        Some(ListKey::Accept)
    );
}

#[test]
fn releases_do_nothing_and_repeats_count() {
    let keymap = Keymap::default();
    let mut event = KeyEvent::new(KeyCode::Left, KeyModifiers::NONE);
    event.kind = KeyEventKind::Repeat;
    assert_eq!(keymap.edit(event), Some(Edit::Move(Move::Left)));
    event.kind = KeyEventKind::Release;
    assert_eq!(keymap.edit(event), None);
    let mut event = KeyEvent::new(KeyCode::Char('x'), KeyModifiers::NONE);
    event.kind = KeyEventKind::Release;
    assert_eq!(typed(event), None);
}

#[test]
fn only_plain_keys_type() {
    let typed = |modifiers| typed(KeyEvent::new(KeyCode::Char('@'), modifiers));
    assert_eq!(typed(KeyModifiers::NONE), Some('@'));
    assert_eq!(typed(KeyModifiers::SHIFT), Some('@'));
    assert_eq!(typed(KeyModifiers::CONTROL | KeyModifiers::ALT), Some('@'));
    assert_eq!(typed(KeyModifiers::CONTROL), None);
    assert_eq!(typed(KeyModifiers::ALT), None);
    assert_eq!(typed(KeyModifiers::SUPER), None);
}

#[test]
fn the_help_names_every_binding() {
    let help = Keymap::default().help();
    let count = defaults::SCREEN.len() + defaults::EDITS.len() + defaults::LISTS.len();
    assert_eq!(help.len(), count);
    assert!(
        help.iter()
            .all(|line| !line.keys.is_empty() && !line.about.is_empty())
    );
}
