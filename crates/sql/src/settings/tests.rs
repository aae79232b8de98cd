//! Tests of the values that settings accept and show.

use super::*;

fn settings() -> Settings {
    Settings::new("ada", Isolation::ReadCommitted)
}

fn shown(settings: &Settings, name: &str) -> String {
    settings.show(name).map_or_else(|error| error.state.as_str().to_owned(), |(_, value)| value.to_owned())
}

#[test]
fn values_are_checked_and_shown_in_their_own_form() {
    let cases = [
        ("client_encoding", "utf-8", "UTF8"),
        ("CLIENT_ENCODING", "latin1", "22023"),
        ("timezone", "utc", "UTC"),
        ("timezone", "europe/berlin", "Europe/Berlin"),
        ("lock_timeout", "10s", "10s"),
        ("lock_timeout", "soon", "22023"),
        ("jit", "FALSE", "off"),
        ("datestyle", "iso, dmy", "ISO, DMY"),
        ("datestyle", "European", "ISO, DMY"),
        ("datestyle", "German", "German, DMY"),
        ("datestyle", "postgresql, ymd", "Postgres, YMD"),
        ("datestyle", "iso, sql", "22023"),
        ("datestyle", "fancy", "22023"),
        ("intervalstyle", "ISO_8601", "iso_8601"),
        ("intervalstyle", "fancy", "22023"),
        ("bytea_output", "escape", "escape"),
        ("bytea_output", "base64", "22023"),
        ("extra_float_digits", "-15", "-15"),
        ("extra_float_digits", "4", "22023"),
        ("backslash_quote", "off", "0A000"),
        ("work_mem", "2048", "2MB"),
        ("work_mem", "much", "22023"),
        ("work_mem", "1kB", "22023"),
        ("role", "none", "none"),
        ("role", "ada", "ada"),
        ("role", "eve", "22023"),
        ("role", "postgres", "42501"),
        ("session_authorization", "none", "22023"),
        ("default_transaction_isolation", "Serializable", "serializable"),
        ("default_transaction_isolation", "snapshot", "repeatable read"),
        ("default_transaction_isolation", "read-stability", "read stability"),
        ("default_transaction_isolation", "read uncommitted", "read committed"),
        ("default_transaction_isolation", "none", "22023"),
        ("hotrow.concurrency", "OPTIMISTIC", "optimistic"),
        ("hotrow.concurrency", " Mixed", "mixed"),
        ("hotrow.concurrency", "both", "22023"),
        ("hotrow.isolation", "snapshot", "55P02"),
        ("server_version", "9", "55P02"),
        ("no_such_setting", "1", "42704"),
    ];
    for (name, value, expected) in cases {
        let mut settings = settings();
        let seen = match settings.set(name, Some(value), false) {
            Ok(_) => shown(&settings, name),
            Err(error) => error.state.as_str().to_owned(),
        };
        assert_eq!(seen, expected, "SET {name} = {value}");
    }
}

#[test]
fn styles_and_notices_follow_the_settings() {
    let mut settings = settings();
    assert_eq!(settings.styles(), Styles::default());
    settings.set("datestyle", Some("sql, dmy"), false).expect("set");
    settings.set("extra_float_digits", Some("-2"), false).expect("set");
    assert_eq!(settings.styles().order, crate::types::DateOrder::Dmy);
    assert_eq!(settings.styles().fewer_digits, Some(2));
    settings.end_transaction(false);
    assert_eq!(settings.styles(), Styles::default(), "rolled back");
    assert!(settings.tells("NOTICE"));
    settings.set("client_min_messages", Some("warning"), false).expect("set");
    assert!(!settings.tells("NOTICE") && settings.tells("WARNING"));
}

#[test]
fn changes_end_with_their_transaction() {
    let mut settings = settings();
    settings.set("work_mem", Some("1MB"), false).expect("set");
    settings.end_transaction(false);
    assert_eq!(shown(&settings, "work_mem"), "4MB", "rolled back");
    settings.set("work_mem", Some("1MB"), false).expect("set");
    settings.set("application_name", Some("x"), true).expect("set");
    assert_eq!(shown(&settings, "application_name"), "x");
    assert_eq!(settings.end_transaction(true), [("application_name", String::new())]);
    assert_eq!(shown(&settings, "work_mem"), "1MB", "kept");
    assert_eq!(shown(&settings, "application_name"), "", "local");
}
