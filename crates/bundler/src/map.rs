//! A source map kept small and ready for look-ups.

use rolldown_sourcemap::SourceMap;

use crate::diagnostics::Place;

/// Lines that the wrapper puts before the chunk.
const PREFIX_LINES: u32 = 1;

/// Where the parts of a generated script came from. Holds neither the generated text nor the sources, because a run
/// keeps the maps of many files.
#[derive(Debug, Default)]
pub(crate) struct Map {
    /// In order of (line, column).
    segments: Vec<Segment>,
    /// Relative to the root; `None` for modules that are no file.
    sources: Vec<Option<String>>,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    line: u32,
    column: u32,
    source: u32,
    source_line: u32,
    source_column: u32,
}

impl Map {
    /// Takes over what rolldown made for a chunk.
    pub(crate) fn new(map: &SourceMap) -> Self {
        let mut segments: Vec<_> = map
            .get_tokens()
            .filter_map(|token| {
                Some(Segment {
                    line: token.get_dst_line() + PREFIX_LINES,
                    column: token.get_dst_col(),
                    source: token.get_source_id()?,
                    source_line: token.get_src_line(),
                    source_column: token.get_src_col(),
                })
            })
            .collect();
        segments.sort_by_key(|segment| (segment.line, segment.column));
        let is_file = |source: &str| !source.contains('\0') && !source.starts_with("\\0");
        let sources = map.get_sources().map(|source| is_file(source).then(|| source.to_string())).collect();
        Self { segments, sources }
    }

    /// The place that a generated position (both 1-based, columns in UTF-16 units) came from; `None` where the map
    /// does not say or the module is none of the user's.
    pub(crate) fn place(&self, line: u32, column: u32) -> Option<Place> {
        let (line, column) = (line.checked_sub(1)?, column.checked_sub(1)?);
        let after = self.segments.partition_point(|segment| (segment.line, segment.column) <= (line, column));
        let segment = self.segments.get(after.checked_sub(1)?).filter(|segment| segment.line == line)?;
        let file = self.sources.get(segment.source as usize)?.clone()?;
        Some(Place { file, line: segment.source_line + 1, column: segment.source_column + 1 })
    }
}
