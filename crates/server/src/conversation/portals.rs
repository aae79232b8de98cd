//! The formats of portals' rows. The portals themselves belong to the session.

use crate::message::RowShape;
use std::collections::HashMap;

/// The types and formats in which each portal's rows are sent, by the portal's name.
#[derive(Default)]
pub struct PortalShapes {
    unnamed: RowShape,
    named: HashMap<String, RowShape>,
}

impl PortalShapes {
    /// Returns the types and formats of a portal's rows. They are empty until Bind sets them.
    pub fn of(&mut self, portal: &str) -> &mut RowShape {
        if portal.is_empty() {
            return &mut self.unnamed;
        }
        if !self.named.contains_key(portal) {
            self.named.insert(portal.to_owned(), RowShape::default());
        }
        self.named.get_mut(portal).expect("it was inserted")
    }

    /// Removes the entries of all named portals, at the end of the transaction.
    pub fn clear_named(&mut self) {
        if !self.named.is_empty() {
            self.named.clear();
        }
    }
}
