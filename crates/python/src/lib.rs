//! The extension module `tegula._native`.
