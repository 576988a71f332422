import pathlib

from parts.rust import CrateProof, criterion

PROVIDER, TRACER, SPAN = (f"src/trace/{it}.rs" for it in ("provider", "tracer", "span"))


def drop_in(source):
    """std's types change their names, where no foreign interface asks for them."""
    source.depend()
    source.substitute(PROVIDER, r"inner: Arc<TracerProviderInner>", "inner: tenure::sync::Arc<TracerProviderInner>", count=2)
    source.substitute(PROVIDER, r"inner: Arc::new\(", "inner: tenure::sync::Arc::new(")
    source.substitute(PROVIDER, r"Arc::downgrade\(&self\.inner\)", "tenure::sync::Arc::downgrade(&self.inner)")
    # Their test.
    source.substitute(PROVIDER, r"new\(Arc::from\(", "new(tenure::sync::Arc::from(")
    source.substitute(TRACER, r"^use std::sync::\{Arc, Weak\};", "use std::sync::Arc;\nuse tenure::sync::Weak;")


def edit(source):
    """A provider owns what all tracers use. A span takes it by `try_share`, where it upgraded a `Weak`."""
    source.depend()
    source.substitute(PROVIDER, r"^use std::sync::Arc;\n\n", "use std::sync::Arc;\nuse tenure::owner::{Owner, Shared};\n\n")
    source.substitute(PROVIDER, r"^    inner: Arc<TracerProviderInner>,", """\
    pub(crate) inner: Shared<TracerProviderInner>,
    pub(crate) last: Arc<Closes>,""")
    source.substitute(PROVIDER, r"^        TracerProvider \{ inner \}", """\
        Self::owning(Arc::into_inner(inner).expect("a new one"))
    }

    fn owning(inner: TracerProviderInner) -> Self {
        let owner = Owner::new(inner);
        TracerProvider { inner: owner.share(), last: Arc::new(Closes(Arc::new(owner))) }""")
    source.substitute(PROVIDER, r"Arc::downgrade\(&self\.inner\)", "&self.last")
    source.substitute(PROVIDER, r"^        TracerProvider \{\n +inner: Arc::new\(TracerProviderInner \{\n(.*\n.*\n) +\}\),\n +\}",
                      "        TracerProvider::owning(TracerProviderInner {\n\\1        })")
    source.substitute(PROVIDER, r"^(?=impl Drop for TracerProviderInner)", """\
impl TracerProviderInner {
    pub(crate) fn span_processors(&self) -> &[Box<dyn SpanProcessor>] {
        &self.processors
    }

    pub(crate) fn config(&self) -> &crate::trace::Config {
        &self.config
    }
}

/// Closes the owner with the last handle of a provider. A tracer has none, and is refused from then on.
#[derive(Debug)]
pub(crate) struct Closes(pub(crate) Arc<Owner<TracerProviderInner>>);

impl Drop for Closes {
    fn drop(&mut self) {
        self.0.close();
    }
}

""")
    source.substitute(TRACER, r"provider::\{TracerProvider, TracerProviderInner\}", "provider::{Closes, TracerProvider, TracerProviderInner}")
    source.after(TRACER, r"^use std::sync::\{Arc, Weak\};", "use tenure::owner::{Owner, Shared};\n")
    source.substitute(TRACER, r"^    instrumentation_lib: Arc<InstrumentationLibrary>,\n    provider: Weak<TracerProviderInner>,\n\}", """\
    parts: Arc<Parts>,
}

/// One count to clone, where there were two.
struct Parts {
    instrumentation_lib: Arc<InstrumentationLibrary>,
    provider: Arc<Owner<TracerProviderInner>>,
    last: Weak<Closes>,
}""")
    source.substitute(TRACER, r"^        provider: Weak<TracerProviderInner>,", "        last: &Arc<Closes>,")
    source.substitute(TRACER, r"^        Tracer \{\n +instrumentation_lib,\n +provider,\n +\}", """\
        let (provider, last) = (Arc::clone(&last.0), Arc::downgrade(last));
        Tracer { parts: Arc::new(Parts { instrumentation_lib, provider, last }) }""")
    source.substitute(TRACER, r"^        self\.provider\.upgrade\(\)\.map\(TracerProvider::new\)\n    \}", """\
        Some(TracerProvider { inner: self.shared()?, last: self.parts.last.upgrade()? })
    }

    pub(crate) fn shared(&self) -> Option<Shared<TracerProviderInner>> {
        self.parts.provider.try_share()
    }""")
    source.substitute(TRACER, r"self\.instrumentation_lib\b", "self.parts.instrumentation_lib", count=3)
    source.substitute(TRACER, r"let provider = self\.provider\(\);", "let provider = self.shared();")
    source.substitute(SPAN, r"self\.tracer\.provider\(\)", "self.tracer.shared()", count=2)


proof = CrateProof(
    pathlib.Path(__file__).parent,
    about="opentelemetry_sdk 0.23.0: a tracer that upgrades a Weak twice for each span; Owner and Shared, or sync::Weak alone",
    crate="opentelemetry_sdk", version="0.23.0", edit=edit, also=("sync::{Arc, Weak} alone", drop_in),
    dependencies='opentelemetry_sdk = { path = "PATH", features = ["trace"] }\nopentelemetry = "=VERSION"',
    own={
        "its own start-end-span/always-sample, 1 thread": criterion("trace", "^start-end-span/always-sample$"),
        "its own start-end-span/never-sample, 1 thread": criterion("trace", "^start-end-span/never-sample$"),
        "its own span_builder/simplest, 1 thread": criterion("span_builder", "^span_builder/simplest$"),
    },
    features=["testing"],
    cases={"ours: 2 threads, one tracer, spans/s": ["2"], "ours: 8 threads": ["8"], "ours: 1 thread": ["1"]},
    record={"spans": (["2"], ["TracerProviderInner"], "own")},
    tests=["--lib", "--features", "testing,trace", "trace::"],
)
