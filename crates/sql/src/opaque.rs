//! Values that a layer keeps for a higher layer and cannot read.

use hotrow_sync::Arc;
use std::any::Any;

/// A value whose type only the layer that made it knows: the plan of a subquery in an expression, what the binder has
/// made of a definition in the catalog. Clones share the value. Reading one compares the type's number, and costs no
/// more than a call.
#[derive(Clone, Debug)]
pub struct Opaque(Arc<dyn Any + Send + Sync>);

impl Opaque {
    /// Keeps a value.
    pub fn new<T: Any + Send + Sync>(value: T) -> Self {
        Self(Arc::new(value))
    }

    /// The value, if it is a `T`.
    #[inline]
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }

    /// The value to change, if it is a `T` and nothing shares it.
    pub fn get_mut<T: Any>(&mut self) -> Option<&mut T> {
        Arc::get_mut(&mut self.0)?.downcast_mut()
    }

    /// The value to share, if it is a `T`.
    pub fn shared<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.0.clone().downcast().ok()
    }

    /// The value itself, if it is a `T` and nothing shares it.
    pub fn into_inner<T: Any + Send + Sync>(self) -> Result<T, Self> {
        let shared = self.0.downcast::<T>().map_err(Self)?;
        Arc::try_unwrap(shared).map_err(Self::from)
    }

    /// Whether both are the same value, shared.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<T: Any + Send + Sync> From<Arc<T>> for Opaque {
    fn from(value: Arc<T>) -> Self {
        Self(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_as_what_it_is() {
        let mut text = Opaque::new("a".to_owned());
        assert_eq!(text.get::<String>().map(String::as_str), Some("a"));
        assert_eq!(text.get::<u32>(), None);
        text.get_mut::<String>().unwrap().push('b');
        let other = text.clone();
        assert!(text.get_mut::<String>().is_none() && text.is_same(&other));
        let text = text.into_inner::<u32>().unwrap_err().into_inner::<String>().unwrap_err();
        drop(other);
        assert_eq!(text.shared::<String>().as_deref().map(String::as_str), Some("ab"));
        assert_eq!(text.into_inner::<String>().unwrap(), "ab");
    }
}
