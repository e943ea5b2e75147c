//! The tasks of a goal that is killed again and again.

/// A task with the keys of those that it depends on.
pub type Task = (&'static str, &'static [&'static str]);

/// Twenty tasks: chains, a fan and a join.
pub const TWENTY_TASKS: [Task; 20] = [
    ("t01", &[]),
    ("t02", &[]),
    ("t03", &[]),
    ("t04", &["t01"]),
    ("t05", &["t01"]),
    ("t06", &["t02"]),
    ("t07", &["t02", "t03"]),
    ("t08", &["t04"]),
    ("t09", &["t05", "t06"]),
    ("t10", &["t07"]),
    ("t11", &["t08", "t09", "t10"]),
    ("t12", &["t11"]),
    ("t13", &["t11"]),
    ("t14", &["t11"]),
    ("t15", &["t11"]),
    ("t16", &["t11"]),
    ("t17", &["t12", "t13"]),
    ("t18", &["t14", "t15", "t16"]),
    ("t19", &["t17"]),
    ("t20", &["t18", "t19"]),
];
