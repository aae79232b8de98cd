//! TATP's transactions, with the statements of the specification.

use crate::wire::failure::AttemptError;
use crate::wire::over_wire::{OverWire, WireClient, changed_one, one};
use crate::wire::session::Session;
use crate::wire::table_reader::TableReader;
use hotrow_storage::TableId;
use hotrow_workloads::tatp::{Client, Request, Tables, Tatp};
use hotrow_workloads::{ClientIdentity, Violation, Workload};
use tokio_postgres::error::SqlState;

const SUBSCRIBER: usize = 0;
const DESTINATIONS: usize = 1;
const ACCESS: usize = 2;
const SET_BIT: usize = 3;
const SET_DATA: usize = 4;
const SET_LOCATION: usize = 5;
const FIND_SUBSCRIBER: usize = 6;
const FACILITIES: usize = 7;
const INSERT_FORWARDING: usize = 8;
const DELETE_FORWARDING: usize = 9;

/// A client that sends TATP's transactions over the network.
pub(crate) struct TatpWireClient {
    client: Client,
    request: Request,
    succeeded: bool,
}

impl OverWire for Tatp {
    type WireClient = TatpWireClient;

    fn tables(&self) -> Tables {
        let [subscriber, access_info, special_facility, call_forwarding] = [0, 1, 2, 3].map(TableId);
        Tables { subscriber, access_info, special_facility, call_forwarding }
    }

    fn statements(&self) -> Vec<String> {
        [
            "SELECT * FROM subscriber WHERE s_id = $1",
            "SELECT cf.numberx FROM special_facility AS sf, call_forwarding AS cf WHERE sf.s_id = $1 AND sf.sf_type = \
             $2 AND sf.is_active = 1 AND cf.s_id = sf.s_id AND cf.sf_type = sf.sf_type AND cf.start_time <= $3 AND \
             cf.end_time > $4",
            "SELECT data1, data2, data3, data4 FROM access_info WHERE s_id = $1 AND ai_type = $2",
            "UPDATE subscriber SET bit_1 = $1 WHERE s_id = $2",
            "UPDATE special_facility SET data_a = $1 WHERE s_id = $2 AND sf_type = $3",
            "UPDATE subscriber SET vlr_location = $1 WHERE sub_nbr = $2",
            "SELECT s_id FROM subscriber WHERE sub_nbr = $1",
            "SELECT sf_type FROM special_facility WHERE s_id = $1",
            "INSERT INTO call_forwarding VALUES ($1, $2, $3, $4, $5)",
            "DELETE FROM call_forwarding WHERE s_id = $1 AND sf_type = $2 AND start_time = $3",
        ]
        .map(str::to_owned)
        .to_vec()
    }

    fn wire_client(&self, identity: ClientIdentity) -> TatpWireClient {
        let mut client = self.client(self.tables(), identity);
        let request = client.draw();
        TatpWireClient { client, request, succeeded: false }
    }

    fn judge(&self, tables: &TableReader<'_>, clients: &[TatpWireClient]) -> Result<(), Violation> {
        let sums = tables.sums([
            "SELECT count(*), sum(s_id)::bigint FROM subscriber",
            "SELECT count(*), sum(ai_type)::bigint FROM access_info",
            "SELECT count(*), sum(sf_type)::bigint FROM special_facility",
            "SELECT count(*), sum(sf_type)::bigint FROM call_forwarding",
        ])?;
        let inserted: u64 = clients.iter().map(|client| client.client.inserted()).sum();
        let deleted: u64 = clients.iter().map(|client| client.client.deleted()).sum();
        let loaded = self.rows_of_tables();
        for (table, (&[rows, _], &loaded)) in self.schemas().iter().zip(sums.iter().zip(&loaded)) {
            let (more, less) = if table.name == "call_forwarding" { (inserted, deleted) } else { (0, 0) };
            if rows != loaded as i64 + more as i64 - less as i64 {
                return Err(Violation::Corruption(format!(
                    "{} has {rows} rows, but {loaded} were loaded, {more} inserted and {less} deleted",
                    table.name
                )));
            }
        }
        Ok(())
    }
}

impl WireClient for TatpWireClient {
    fn draw(&mut self) {
        self.request = self.client.draw();
    }

    async fn attempt(&mut self, session: &mut Session) -> Result<(), AttemptError> {
        self.succeeded = match self.request {
            Request::GetSubscriberData { subscriber } => {
                one(&session.query(SUBSCRIBER, &[&subscriber]).await?).map(|_| true)?
            }
            Request::GetNewDestination { subscriber, facility, start_time, end_time } => {
                let destinations = [&subscriber as _, &facility as _, &start_time as _, &end_time as _];
                !session.query(DESTINATIONS, &destinations).await?.is_empty()
            }
            Request::GetAccessData { subscriber, kind } => {
                !session.query(ACCESS, &[&subscriber, &kind]).await?.is_empty()
            }
            Request::UpdateSubscriberData { subscriber, bit, facility, data } => {
                session.begin().await?;
                changed_one(session.execute(SET_BIT, &[&bit, &subscriber]).await?)?;
                let updated = session.execute(SET_DATA, &[&data, &subscriber, &facility]).await? == 1;
                if updated {
                    session.commit().await?
                } else {
                    session.rollback().await?
                }
                updated
            }
            Request::UpdateLocation { number, location } => {
                changed_one(session.execute(SET_LOCATION, &[&location, &number.as_text()]).await?).map(|()| true)?
            }
            Request::InsertCallForwarding { .. } => self.insert_call_forwarding(session).await?,
            Request::DeleteCallForwarding { number, facility, start_time } => {
                session.begin().await?;
                let subscriber: i32 = one(&session.query(FIND_SUBSCRIBER, &[&number.as_text()]).await?)?.try_get(0)?;
                let deleted = session.execute(DELETE_FORWARDING, &[&subscriber, &facility, &start_time]).await?;
                session.commit().await?;
                deleted == 1
            }
        };
        Ok(())
    }

    fn committed(&mut self) -> Option<(usize, bool)> {
        self.client.committed(&self.request, self.succeeded);
        Some((self.request.kind(), self.succeeded))
    }
}

impl TatpWireClient {
    /// Inserts a call forwarding, and returns whether it was inserted. If there is one with that start time already,
    /// the transaction is rolled back, as specified.
    async fn insert_call_forwarding(&mut self, session: &mut Session) -> Result<bool, AttemptError> {
        let Request::InsertCallForwarding { number, facility, start_time, end_time, destination } = self.request else {
            return Ok(false);
        };
        session.begin().await?;
        let subscriber: i32 = one(&session.query(FIND_SUBSCRIBER, &[&number.as_text()]).await?)?.try_get(0)?;
        let facilities = session.query(FACILITIES, &[&subscriber]).await?;
        let has_facility = facilities.iter().any(|row| row.try_get::<_, i16>(0).is_ok_and(|kind| kind == facility));
        if !has_facility {
            session.commit().await?;
            return Ok(false);
        }
        let values = [&subscriber as _, &facility as _, &start_time as _, &end_time as _, &destination.as_text() as _];
        match session.execute(INSERT_FORWARDING, &values).await {
            Ok(_) => session.commit().await.map(|()| true).map_err(AttemptError::from),
            Err(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => {
                session.rollback().await?;
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }
}
