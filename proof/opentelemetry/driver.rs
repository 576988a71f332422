//! One tracer with which THREADS threads start and end spans, which a processor is given and drops.

use opentelemetry::trace::{Span, TraceResult, Tracer, TracerProvider as _};
use opentelemetry_sdk::export::trace::SpanData;
use opentelemetry_sdk::trace::{SpanProcessor, TracerProvider};

mod timed;

#[derive(Debug)]
struct Drops;

impl SpanProcessor for Drops {
    fn on_start(&self, _: &mut opentelemetry_sdk::trace::Span, _: &opentelemetry::Context) {}

    fn on_end(&self, _: SpanData) {}

    fn force_flush(&self) -> TraceResult<()> {
        Ok(())
    }

    fn shutdown(&mut self) -> TraceResult<()> {
        Ok(())
    }
}

fn main() {
    let threads = std::env::args().nth(1).unwrap().parse().expect("how many threads");
    let provider = TracerProvider::builder().with_span_processor(Drops).build();
    let tracer = provider.tracer("driver");
    timed::rate(threads, |_| || tracer.start("request").end());
}
