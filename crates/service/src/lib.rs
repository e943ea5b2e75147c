//! What people ask for: create, edit, say, fire, reset, pause, delete.
