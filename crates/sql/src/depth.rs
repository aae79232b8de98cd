//! Limits of nesting: a statement may nest as deeply as the stack of the session's thread allows.
//!
//! - Recursive functions of this crate call [`check`], which returns an error if the stack is nearly used up.
//! - sqlparser and its syntax trees ([`Syntax`]) recurse without a check when they parse, print or drop a tree. `parse`
//!   limits the depth of this recursion, and runs it [`with_room`] for that depth.

use crate::{SqlError, state};
use hotrow_sync::{Arc, stack};
use std::fmt;
use std::ops::Deref;

/// The size of the stack's reserve, in bytes. When only the reserve is left, no function of this crate recurses
/// further. The reserve is for code that does not check the stack, such as the engine.
pub const RESERVED_STACK_BYTES: usize = if cfg!(debug_assertions) { 128 << 10 } else { 64 << 10 };

/// The stack size for recursion that does not check: twice the need of the deepest syntax that `parse` accepts.
const ROOM_BYTES: usize = 6 << 20;

/// Returns error 54001 if less of the thread's stack is left than the reserve. Recursive functions call it at each
/// level.
#[inline]
pub fn check() -> Result<(), SqlError> {
    if stack::left() < RESERVED_STACK_BYTES { Err(too_deep()) } else { Ok(()) }
}

/// Returns error 54001, which says that the stack depth limit is exceeded.
#[cold]
pub fn too_deep() -> SqlError {
    SqlError::new(state::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
        .hint("Nest the statement less deeply, or start the server with more --stack-kib.")
}

/// Calls `work` on a stack with room for recursion that does not call [`check`]. `work` must not wait for anything.
///
/// # Errors
/// The error of `work`, or 53200 if there is no memory for a larger stack.
pub fn with_room<R, E: From<SqlError>>(work: impl FnOnce() -> Result<R, E>) -> Result<R, E> {
    stack::with_room(ROOM_BYTES, work).map_err(|error| {
        let message = format!("out of memory: no stack to read the statement on ({error})");
        SqlError::new(state::OUT_OF_MEMORY, message)
    })?
}

/// A syntax tree that sqlparser has parsed. Cheap to clone. Dropping it runs [`with_room`], since a deep tree is
/// dropped recursively.
pub struct Syntax<T> {
    /// The tree; `None` only while the value is dropped.
    tree: Option<Arc<T>>,
}

impl<T> Syntax<T> {
    /// Wraps a tree that sqlparser has parsed.
    pub fn new(tree: T) -> Self {
        Self { tree: Some(Arc::new(tree)) }
    }
}

impl<T> Deref for Syntax<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.tree.as_ref().expect("present until it is dropped")
    }
}

impl<T> Clone for Syntax<T> {
    fn clone(&self) -> Self {
        Self { tree: self.tree.clone() }
    }
}

impl<T: PartialEq> PartialEq for Syntax<T> {
    fn eq(&self, other: &Self) -> bool {
        stack::with_room(ROOM_BYTES, || **self == **other).unwrap_or(false)
    }
}

impl<T: fmt::Debug> fmt::Debug for Syntax<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        stack::with_room(ROOM_BYTES, || (**self).fmt(f)).unwrap_or(Err(fmt::Error))
    }
}

impl<T> Drop for Syntax<T> {
    fn drop(&mut self) {
        if stack::with_room(ROOM_BYTES, || drop(self.tree.take())).is_err() {
            // If there is no stack on which to drop the tree, its memory is leaked.
            std::mem::forget(self.tree.take());
        }
    }
}
