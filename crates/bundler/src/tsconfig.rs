//! Which `tsconfig.json` a test file goes by.

use std::path::{Path, PathBuf};

use oxc::allocator::Allocator;
use oxc::ast::ast::{Expression, ObjectExpression, ObjectPropertyKind};
use oxc::parser::Parser;
use oxc::span::SourceType;

use crate::options::nearest;

/// The nearest `tsconfig.json` above the file. Where that one only refers to others (`"files": []`, as project
/// templates have it), the first of them whose `include` names a folder of the file, else the first of them.
/// What a configuration excludes does not matter: projects routinely exclude their tests.
pub(crate) fn of(file: &Path) -> Option<PathBuf> {
    let config = nearest(file, "tsconfig.json")?;
    let referenced = Config::read(&config).map(|config| config.referenced()).unwrap_or_default();
    let covers = |path: &&PathBuf| Config::read(path).is_some_and(|config| config.covers(file));
    Some(referenced.iter().find(covers).or(referenced.first()).cloned().unwrap_or(config))
}

/// What is needed of a configuration.
struct Config {
    folder: PathBuf,
    files: Option<Vec<String>>,
    include: Option<Vec<String>>,
    references: Vec<String>,
}

impl Config {
    /// `None` where it cannot be read; the bundler says why when it tries.
    fn read(path: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(path).ok()?;
        let allocator = Allocator::default();
        // JSON with comments and trailing commas is an expression.
        let text = text.trim_start_matches('\u{feff}');
        let parsed = Parser::new(&allocator, text, SourceType::mjs()).parse_expression().ok()?;
        let Expression::ObjectExpression(object) = parsed else { return None };
        Some(Self {
            folder: path.parent()?.to_path_buf(),
            files: list(&object, "files", text_of),
            include: list(&object, "include", text_of),
            references: list(&object, "references", |entry| match entry {
                Expression::ObjectExpression(entry) => property(entry, "path").and_then(text_of),
                _ => None,
            })
            .unwrap_or_default(),
        })
    }

    fn referenced(&self) -> Vec<PathBuf> {
        if self.include.is_some() || self.files.as_ref().is_none_or(|files| !files.is_empty()) {
            return Vec::new();
        }
        let paths = self.references.iter().map(|path| self.folder.join(path));
        let paths = paths.map(|path| if path.is_dir() { path.join("tsconfig.json") } else { path });
        paths.filter(|path| path.is_file()).collect()
    }

    fn covers(&self, file: &Path) -> bool {
        let folder_of = |pattern: &str| {
            let literal = pattern.split('*').next().unwrap_or_default();
            self.folder.join(literal.trim_start_matches("./"))
        };
        match &self.include {
            Some(include) => include.iter().any(|pattern| file.starts_with(folder_of(pattern))),
            None => self.files.is_none() && file.starts_with(&self.folder),
        }
    }
}

fn property<'a, 'b>(object: &'b ObjectExpression<'a>, name: &str) -> Option<&'b Expression<'a>> {
    object.properties.iter().find_map(|property| match property {
        ObjectPropertyKind::ObjectProperty(property) => {
            (property.key.static_name().as_deref() == Some(name)).then_some(&property.value)
        }
        ObjectPropertyKind::SpreadProperty(_) => None,
    })
}

fn text_of(expression: &Expression<'_>) -> Option<String> {
    match expression {
        Expression::StringLiteral(text) => Some(text.value.to_string()),
        _ => None,
    }
}

fn list(
    object: &ObjectExpression<'_>,
    name: &str,
    item: impl Fn(&Expression<'_>) -> Option<String>,
) -> Option<Vec<String>> {
    let Expression::ArrayExpression(array) = property(object, name)? else { return None };
    Some(array.elements.iter().filter_map(|element| item(element.as_expression()?)).collect())
}
