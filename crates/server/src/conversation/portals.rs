//! The formats of portals' rows. The portals themselves belong to the session.

use crate::message::RowShape;
use std::collections::HashMap;

/// The types and formats in which each portal's rows are written.
#[derive(Default)]
pub struct PortalShapes {
    unnamed: RowShape,
    named: HashMap<String, RowShape>,
}

impl PortalShapes {
    /// Returns the shape of a portal's rows; an empty one if the portal has none yet.
    pub fn of(&mut self, portal: &str) -> &mut RowShape {
        if portal.is_empty() {
            return &mut self.unnamed;
        }
        if !self.named.contains_key(portal) {
            self.named.insert(portal.to_owned(), RowShape::default());
        }
        self.named.get_mut(portal).expect("it was inserted")
    }

    /// Forgets the named portals, which end with their transaction.
    pub fn clear_named(&mut self) {
        if !self.named.is_empty() {
            self.named.clear();
        }
    }
}
