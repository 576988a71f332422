import pathlib

from parts.rust import CrateProof

proof = CrateProof(
    pathlib.Path(__file__).parent,
    about="axum 0.8.9: a server's state, cloned for each request; State<Shared<App>> in place of State<Arc<App>>",
    crate="axum", version="0.8.9", edit=(2, 1),
    dependencies="""axum = { path = "PATH", default-features = false, features = ["http1", "tokio"] }
tenure = { path = "ROOT/crates/tenure" }
tokio = { version = "1", features = ["rt-multi-thread", "net"] }
tower = { version = "0.5", features = ["util"] }""",
    cases={
        "2 threads, requests through the router, requests/s": ["WAY", "router", "2"],
        "8 threads": ["WAY", "router", "8"],
        "1 thread": ["WAY", "router", "1"],
    },
    record={"router": (["WAY", "router", "2"], ["from_ref"], "revocable")},
    tests=[],
)
