//! A database in memory with KEYS keys, which THREADS threads look up, LOOKUPS in each read transaction. With `writer` the first
//! thread replaces one value in each transaction instead; with `misses` the cache has a quarter of the pages.

use redb::backends::InMemoryBackend;
use redb::{Builder, Database, ReadableDatabase, TableDefinition};
use std::hint::black_box;

mod timed;

const TABLE: TableDefinition<u64, &[u8]> = TableDefinition::new("pages");
const VALUE: [u8; 150] = [1; 150];
/// Lookups before the time begins: enough that every shard of the cache has a table.
const BEFORE: usize = 3_000_000;

fn database(keys: u64, is_small: bool) -> Database {
    // A leaf has about 13 keys, since they are inserted in order.
    let cache = if is_small { keys / 13 * 4096 / 4 } else { 1 << 30 };
    let mut builder = Builder::new();
    builder.set_cache_size(cache as usize);
    let database = builder.create_with_backend(InMemoryBackend::new()).unwrap();
    let writing = database.begin_write().unwrap();
    let mut table = writing.open_table(TABLE).unwrap();
    for key in 0..keys {
        table.insert(key, VALUE.as_slice()).unwrap();
    }
    drop(table);
    writing.commit().unwrap();
    database
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize| words[place].parse::<u64>().expect("THREADS KEYS LOOKUPS");
    let (threads, keys, lookups) = (number(0) as usize, number(1), number(2));
    let has = |what| words.iter().any(|word| word == what);
    let (is_small, has_writer) = (has("misses"), has("writer"));
    let database = database(keys, is_small);
    if !is_small {
        let table = database.begin_read().unwrap().open_table(TABLE).unwrap();
        for key in (0..keys).cycle().take(BEFORE) {
            black_box(table.get(key).unwrap());
        }
    }
    timed::rate(threads, |thread| {
        let (database, mut state) = (&database, thread as u64 + 1);
        let mut key = move || {
            // A generator of random numbers.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % keys
        };
        let is_writer = has_writer && thread == 0;
        let (mut table, mut left) = (None, 0);
        move || {
            if is_writer {
                let writing = database.begin_write().unwrap();
                writing.open_table(TABLE).unwrap().insert(key(), VALUE.as_slice()).unwrap();
                return writing.commit().unwrap();
            }
            if left == 0 {
                table = Some(database.begin_read().unwrap().open_table(TABLE).unwrap());
                left = lookups;
            }
            left -= 1;
            let value = table.as_ref().unwrap().get(key()).unwrap().unwrap();
            black_box(value.value()[0]);
        }
    });
}
