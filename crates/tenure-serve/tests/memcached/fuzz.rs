#[path = "../../fuzz/src/lib.rs"]
#[allow(unreachable_pub, reason = "public for the targets")]
mod targets;

const SIZES: [u8; 2] = [1, 7];

#[test]
fn the_seeds_of_http_have_the_same_answers_in_pieces() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/seeds/http");
    let seeds: Vec<_> = std::fs::read_dir(folder).unwrap().collect();
    assert!(!seeds.is_empty());
    for seed in seeds {
        let seed = std::fs::read(seed.unwrap().path()).unwrap();
        targets::as_http(&seed);
        for size in SIZES {
            targets::as_http(&[&[size], &seed[1..]].concat());
        }
    }
}

#[test]
fn requests_to_the_cache_have_the_same_answers_in_pieces() {
    for requests in [
        "set a 0 0 5\r\nhello\r\nget a b\r\nincr a 1\r\ndelete a\r\n",
        "ms k 2 T0\r\nhi\r\nmg k v t\r\nmd k\r\nmn\r\n",
        "set a 0 0 5\r\nhel\r\nlo\r\nnonsense\r\n\0\r\nquit\r\nget a\r\n",
    ] {
        for size in SIZES {
            targets::as_memcached(&[&[size], requests.as_bytes()].concat());
        }
    }
}
