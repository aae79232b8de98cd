//! The check: the tables without inserts have the rows that were loaded. Call forwardings belong to special facilities,
//! and their number is that of the loaded and inserted ones, minus the deleted ones.

use super::Client;
use super::load::{Population, START_TIMES, TYPES};
use super::schema::{Number, Tables, access_info, call_forwarding, special_facility, subscriber};
use crate::Violation;
use crate::visit::visit_tables;
use hotrow_storage::{RowRef, TableId};
use hotrow_txn::{Engine, number_of};

pub(super) fn check(
    population: &Population,
    engine: &dyn Engine,
    tables: Tables,
    clients: &[Client],
) -> Result<(), Violation> {
    let mut census = Census::new(tables, population);
    let Tables { subscriber, access_info, special_facility, call_forwarding } = tables;
    let order = [subscriber, access_info, special_facility, call_forwarding];
    visit_tables(engine, &order, |table, row| census.visit(table, row))?;
    census.judge(population, clients)
}

/// The rows that the check has visited, by subscriber.
struct Census {
    tables: Tables,
    counted: Population,
    /// The types of each subscriber's rows: those of special facilities as bits in the low four bits, and those of
    /// access infos in the high four bits.
    types: Vec<u8>,
    /// A description of the first row that should not exist, or `None` if there is no such row.
    wrong: Option<String>,
}

impl Census {
    fn new(tables: Tables, population: &Population) -> Self {
        let types = vec![0; population.subscribers as usize];
        Self { tables, counted: Population::default(), types, wrong: None }
    }

    fn visit(&mut self, table: TableId, row: RowRef<'_>) {
        let wrong = if table == self.tables.subscriber {
            self.counted.subscribers += 1;
            self.visit_subscriber(row)
        } else if table == self.tables.access_info {
            self.counted.access_infos += 1;
            let (id, kind) = (row.int4(access_info::SUBSCRIBER), row.int2(access_info::TYPE));
            self.visit_type("access_info", id, kind, TYPES)
        } else if table == self.tables.special_facility {
            self.counted.facilities += 1;
            let (id, kind) = (row.int4(special_facility::SUBSCRIBER), row.int2(special_facility::TYPE));
            self.visit_type("special_facility", id, kind, 0)
        } else {
            self.counted.forwardings += 1;
            self.visit_forwarding(row)
        };
        self.wrong = self.wrong.take().or(wrong.err());
    }

    fn visit_subscriber(&mut self, row: RowRef<'_>) -> Result<(), String> {
        let id = row.int4(subscriber::ID);
        self.types_of(id).ok_or_else(|| format!("subscriber {id} was not loaded"))?;
        let number = Number::new(id as u64);
        if row.bytes(subscriber::NUMBER) == number.as_bytes() {
            return Ok(());
        }
        Err(format!("subscriber {id} has sub_nbr {:?}, not {number:?}", row.text(subscriber::NUMBER)))
    }

    fn visit_type(&mut self, table: &str, id: i32, kind: i16, shift: i16) -> Result<(), String> {
        let types =
            self.types_of(id).ok_or_else(|| format!("{table} has a row of subscriber {id}, who is not there"))?;
        if !(1..=TYPES).contains(&kind) {
            return Err(format!("{table} has a row of subscriber {id} with type {kind}"));
        }
        *types |= 1 << (kind - 1 + shift);
        Ok(())
    }

    fn visit_forwarding(&mut self, row: RowRef<'_>) -> Result<(), String> {
        let (id, facility) = (row.int4(call_forwarding::SUBSCRIBER), row.int2(call_forwarding::FACILITY));
        let start_time = row.int2(call_forwarding::START_TIME);
        let of = || format!("call_forwarding has a row of subscriber {id}, facility {facility}, start {start_time}");
        let types = self.types_of(id).map_or(0, |types| *types);
        if !(1..=TYPES).contains(&facility) || types >> (facility - 1) & 1 == 0 {
            return Err(format!("{}: there is no such special facility", of()));
        }
        if START_TIMES.contains(&start_time) { Ok(()) } else { Err(format!("{}: nothing begins at that time", of())) }
    }

    /// Returns the types of a subscriber's rows, or `None` if no such subscriber was loaded.
    fn types_of(&mut self, id: i32) -> Option<&mut u8> {
        let position = usize::try_from(id).ok()?.checked_sub(1)?;
        self.types.get_mut(position)
    }

    fn judge(self, population: &Population, clients: &[Client]) -> Result<(), Violation> {
        if let Some(wrong) = self.wrong {
            return Err(Violation::Corruption(wrong));
        }
        let Population { subscribers, access_infos, facilities, forwardings } = *population;
        for (table, counted, loaded) in [
            ("subscriber", self.counted.subscribers, subscribers),
            ("access_info", self.counted.access_infos, access_infos),
            ("special_facility", self.counted.facilities, facilities),
        ] {
            if counted != loaded {
                let rows = number_of(counted, "row");
                return Err(Violation::Corruption(format!("{table} has {rows}, not the {loaded} loaded")));
            }
        }
        let without = |shift: i16| self.types.iter().position(|types| types >> shift & 0b1111 == 0);
        for (table, shift) in [("special_facility", 0), ("access_info", TYPES)] {
            if let Some(position) = without(shift) {
                return Err(Violation::Corruption(format!("subscriber {} has no {table}", position + 1)));
            }
        }
        let inserted: u64 = clients.iter().map(Client::inserted).sum();
        let deleted: u64 = clients.iter().map(Client::deleted).sum();
        if self.counted.forwardings + deleted == forwardings + inserted {
            return Ok(());
        }
        // Without isolation, two transactions that delete the same row at once may both report success.
        Err(Violation::Anomaly(format!(
            "call_forwarding has {}, not what the {forwardings} loaded, {inserted} inserted and {deleted} deleted make",
            number_of(self.counted.forwardings, "row")
        )))
    }
}
