//! Operations and functions, with the answers of PostgreSQL 15 in `answers.txt`: `NAME LEFT RIGHT = ANSWER`.

use hotrow_numeric::{Numeric, NumericError};

fn number(text: &str) -> Numeric {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn answer(name: &str, left: &str, right: &str) -> Result<Numeric, NumericError> {
    let left = number(left);
    let places = || right.parse::<i64>().expect("a number of places");
    let other = || number(right);
    match name {
        "add" => left.add(&other()),
        "subtract" => left.subtract(&other()),
        "multiply" => left.multiply(&other()),
        "divide" => left.divide(&other()),
        "remainder" => left.remainder(&other()),
        "div" => left.divide_whole(&other()),
        "gcd" => Ok(left.gcd(&other())),
        "lcm" => left.lcm(&other()),
        "log" => other().log(&left),
        "power" => left.power(&other()),
        "sqrt" => left.sqrt(),
        "exp" => left.exp(),
        "ln" => left.ln(),
        "abs" => Ok(left.abs()),
        "ceil" => left.ceil(),
        "floor" => left.floor(),
        "trim_scale" => Ok(left.without_last_zeros()),
        "sign" => Ok(if left.is_nan() { left } else { Numeric::from(left.sign()) }),
        "round" => left.round(places()),
        "trunc" => Ok(left.trunc(places())),
        "text" => Ok(left),
        "float" => Ok(Numeric::from_f64(left.to_f64())),
        name => panic!("no operation {name}"),
    }
}

#[test]
fn answers_are_those_of_postgresql() {
    let mut wrong = Vec::new();
    for line in include_str!("answers.txt").lines() {
        let (question, expected) = line.split_once(" = ").expect("each line has an answer");
        let words: Vec<&str> = question.split(' ').collect();
        let found = match answer(words[0], words[1], words[2]) {
            Ok(number) => number.to_string(),
            Err(error) => format!("ERROR {error}"),
        };
        if found != expected {
            wrong.push(format!("{question}\n  is       {found}\n  expected {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{} answers differ:\n{}", wrong.len(), wrong.join("\n"));
}
