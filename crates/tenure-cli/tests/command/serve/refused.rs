use std::net::TcpListener;

use crate::support::refused;

#[test]
fn bad_input_is_refused_in_one_line_that_says_what_to_do() {
    let refused = |words: &[&str], said: &[&str]| refused("serve", words, said);
    refused(&["redis"], &["redis"]);
    refused(&["http"], &["nothing to serve", "--body"]);
    refused(&["http", "/no/such"], &["/no/such"]);
    refused(&["http", "--body", "lots"], &["--body", "16k"]);
    refused(&["http", "--body", "1", "--stats", "x"], &["\"x\" is not a path"]);
    refused(&["http", "--body", "1", "--listen", "8080"], &["--listen", "HOST:PORT"]);
    refused(&["http", "--body", "1", "--listen", "no.such.invalid:80"], &["no.such.invalid"]);
    refused(&["memcached", "--count", "arc"], &["--count", "ticket"]);
    refused(&["memcached", "--pool", "malloc"], &["--pool", "magazines"]);
    refused(&["memcached", "--memory", "1k"], &["--memory", "1m"]);
    refused(&["memcached", "--largest-item", "40m"], &["half of --memory"]);
    refused(&["memcached", "--connections", "0"], &["--connections", "1 connection"]);
    refused(&["memcached", "--connections-per-peer", "0"], &["--connections-per-peer"]);
    refused(&["memcached", "--buffer", "1000"], &["--buffer", "power of two"]);
    refused(&["memcached", "--idle", "soon"], &["--idle", "seconds"]);
    refused(&["memcached", "--socket-mode", "rwx"], &["--socket-mode", "octal"]);
    refused(&["memcached", "--listen", "unix:"], &["--listen", "path"]);
    refused(&["memcached", "--listen", "unix:/no/such/socket"], &["unix:/no/such/socket"]);
    refused(&["memcached", "--listen", "unix:/etc/passwd"], &["/etc/passwd", "is no socket"]);
    refused(&["memcached", "--listen", "192.0.2.1:1"], &["192.0.2.1:1", "0.0.0.0"]);
    refused(&["memcached", "--prefix-delimiter", "::"], &["--prefix-delimiter", "a character"]);
    refused(&["memcached", "--requests-per-turn", "0"], &["--requests-per-turn"]);
    refused(&["memcached", "--auth-file", "/no/such"], &["/no/such", "cannot read the passwords"]);
    refused(&["memcached", "--auth-file", "/etc/hostname"], &["/etc/hostname", "NAME:PASSWORD"]);
    refused(&["memcached", "--listen", "127.0.0.1:0", "--pid-file", "/no/such"], &["/no/such"]);
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = other.local_addr().unwrap().to_string();
    refused(&["memcached", "--listen", &taken], &[&taken, "port 0"]);
}
