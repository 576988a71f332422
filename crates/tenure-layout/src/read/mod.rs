//! From a file to a [`Model`](crate::model::Model).

pub mod btf;
