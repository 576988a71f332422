use super::clients::{number, run};
use super::server::{Protocol, Server};

fn started(pool: &str) -> Server {
    let server = Server::start(Protocol::Http, &["--pool", pool]);
    server.file("page", "x".repeat(612));
    server
}

#[test]
fn wrk_sees_no_error_on_long_and_on_short_connections() {
    for pool in ["scan", "tagged", "magazines"] {
        let server = started(pool);
        for header in ["Connection: keep-alive", "Connection: close"] {
            let words = ["-t", "1", "-c", "50", "-d", "1", "-H", header, &server.url("page")];
            let Some(report) = run("wrk", &words) else { return };
            assert!(!report.contains("Non-2xx") && !report.contains("Socket errors"), "{report}");
            // "1234 requests in 1.00s"
            let requests = report.split_once(" requests in ").unwrap().0;
            let requests: u64 = requests.rsplit([' ', '\n']).next().unwrap().parse().unwrap();
            assert!(requests > 100, "{report}");
            server.wait_for_no_clients();
        }
        server.stop();
    }
}

#[test]
fn ab_gets_every_answer() {
    let server = started("magazines");
    for keep in [&["-k"][..], &[]] {
        let url = server.url("page");
        let words = [&["-q", "-n", "3000", "-c", "30"], keep, &[&url]].concat();
        let Some(report) = run("ab", &words) else { return };
        assert_eq!(number(&report, "Complete requests:"), 3000);
        assert_eq!(number(&report, "Failed requests:"), 0);
        assert_eq!(number(&report, "HTML transferred:"), 3000 * 612);
        if !keep.is_empty() {
            assert_eq!(number(&report, "Keep-Alive requests:"), 3000);
        }
    }
    let left = server.stop();
    // ab opens some that it does not need.
    assert!((3030..4000).contains(&left["total_connections"]), "{left:?}");
}
