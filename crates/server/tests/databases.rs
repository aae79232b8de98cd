//! Connections to several databases.

mod common;

use common::client::{Failure, packet};
use common::{Client, Running, models};

/// A connection whose start-up message has these parameters.
fn connect(server: &Running, parameters: &str) -> Result<Client, Failure> {
    let mut client = Client::open(server.address);
    client.send(&packet(196_608, format!("{parameters}\0").as_bytes()));
    client.await_ready()?;
    Ok(client)
}

#[test]
fn a_connection_is_in_the_database_that_it_names() {
    for model in models() {
        let server = Running::with(common::ENGINE_OF_ALL_MODELS, common::model(model));
        let mut main = Client::connect(server.address);
        for sql in ["create database shop", "create database ada"] {
            assert_eq!(main.query(sql).failure, None, "{model:?}: {sql}");
        }
        for (parameters, database) in [
            ("user\0ada\0database\0shop\0", "shop"),
            ("user\0ada\0", "ada"),
            ("user\0ada\0database\0postgres\0", "postgres"),
            ("user\0postgres\0", "postgres"),
        ] {
            let mut client = connect(&server, parameters).expect("a session");
            let answer = client.query("select current_database()");
            assert_eq!(answer.rows, [[Some(database.to_owned())]], "{model:?}: {parameters:?}");
        }
        let refused = connect(&server, "user\0eve\0").err().expect("there is no database eve");
        assert_eq!((refused.severity.as_str(), refused.code.as_str()), ("FATAL", "3D000"), "{model:?}");
        assert_eq!(refused.message, "database \"eve\" does not exist", "{model:?}");
    }
}

#[test]
fn sessions_of_a_database_can_be_ended_to_drop_it() {
    for model in models() {
        let server = Running::with(common::ENGINE_OF_ALL_MODELS, common::model(model));
        let mut main = Client::connect(server.address);
        assert_eq!(main.query("create database shop").failure, None, "{model:?}");
        let mut idle = connect(&server, "user\0ada\0database\0shop\0").expect("a session");
        let mut in_block = connect(&server, "user\0ada\0database\0shop\0").expect("a session");
        assert_eq!(in_block.query("create table t (id int)").failure, None, "{model:?}");
        assert_eq!(in_block.query("begin; insert into t values (1)").failure, None, "{model:?}");
        assert_eq!(main.query("drop database shop with (force)").failure, None, "{model:?}");
        for client in [&mut idle, &mut in_block] {
            let ended = client.await_ready().expect_err("the session was ended");
            assert_eq!(ended.code, "57P01", "{model:?}");
        }
        let refused = connect(&server, "user\0ada\0database\0shop\0").err().expect("the database is gone");
        assert_eq!(refused.code, "3D000", "{model:?}");
        assert_eq!(main.query("create database shop").failure, None, "{model:?}");
    }
}
