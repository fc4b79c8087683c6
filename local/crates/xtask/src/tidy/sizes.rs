//! Measures files, functions, structs and enums.

use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{
    Block, Fields, ImplItemFn, Item, ItemEnum, ItemFn, ItemImpl, ItemMod, ItemStruct, TraitItemFn, Type,
};

use super::exceptions::{Measure, Rule};
use super::source::Source;

const RULES: [Rule; 5] = [
    Rule::FileLines,
    Rule::FunctionLines,
    Rule::StructFields,
    Rule::StructBools,
    Rule::EnumVariants,
];

/// Takes every measure of a file.
fn measure(source: &Source) -> Vec<Measure> {
    let mut ruler = Ruler {
        path: &source.path,
        lines: source.text.lines().collect(),
        owner: None,
        measures: Vec::new(),
    };
    ruler.record(Rule::FileLines, None, lines_without_tests(source));
    ruler.visit_file(&source.tree);
    ruler.measures
}

/// Counts the lines of a file, leaving out a test module at its end.
fn lines_without_tests(source: &Source) -> usize {
    let total = source.text.lines().count();
    match source.tree.items.last() {
        Some(Item::Mod(module)) if module.content.is_some() && is_for_tests(module) => {
            let (start, end) = lines_of(module.span());
            total - (end - start + 1)
        }
        _ => total,
    }
}

/// Tells whether a module has the attribute `#[cfg(test)]`.
pub(super) fn is_for_tests(module: &ItemMod) -> bool {
    module.attrs.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute
                .parse_args::<syn::Path>()
                .is_ok_and(|path| path.is_ident("test"))
    })
}

fn lines_of(span: Span) -> (usize, usize) {
    (span.start().line, span.end().line)
}

/// Walks a file and notes what it measures.
struct Ruler<'a> {
    path: &'a str,
    lines: Vec<&'a str>,
    /// The type whose `impl` block, or the trait, is being walked.
    owner: Option<String>,
    measures: Vec<Measure>,
}

impl Ruler<'_> {
    fn record(&mut self, rule: Rule, name: Option<String>, value: usize) {
        let item = match name {
            Some(name) => format!("{}::{name}", self.path),
            None => self.path.to_owned(),
        };
        self.measures.push(Measure { rule, item, value });
    }

    /// Counts the lines of code between the braces, as clippy does: neither empty lines nor comments.
    fn record_function(&mut self, name: &syn::Ident, block: &Block) {
        let (start, end) = lines_of(block.brace_token.span.join());
        let body = self.lines.get(start..end.saturating_sub(1)).unwrap_or_default();
        let code = body
            .iter()
            .map(|line| line.trim())
            .filter(|line| !line.is_empty() && !line.starts_with("//"));
        let value = code.count();
        let name = match &self.owner {
            Some(owner) => format!("{owner}::{name}"),
            None => name.to_string(),
        };
        self.record(Rule::FunctionLines, Some(name), value);
    }

    fn within(&mut self, owner: String, walk: impl FnOnce(&mut Self)) {
        let outer = self.owner.replace(owner);
        walk(self);
        self.owner = outer;
    }
}

impl<'ast> Visit<'ast> for Ruler<'_> {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.record_function(&item.sig.ident, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.record_function(&item.sig.ident, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if let Some(block) = &item.default {
            self.record_function(&item.sig.ident, block);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        let owner = match &*item.self_ty {
            Type::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()),
            _ => None,
        };
        self.within(owner.unwrap_or_else(|| "impl".to_owned()), |ruler| {
            visit::visit_item_impl(ruler, item);
        });
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.within(item.ident.to_string(), |ruler| {
            visit::visit_item_trait(ruler, item);
        });
    }

    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        let bools = item
            .fields
            .iter()
            .filter(|field| matches!(&field.ty, Type::Path(path) if path.path.is_ident("bool")));
        let bools = bools.count();
        let fields = match &item.fields {
            Fields::Unit => 0,
            fields => fields.len(),
        };
        self.record(Rule::StructFields, Some(item.ident.to_string()), fields);
        self.record(Rule::StructBools, Some(item.ident.to_string()), bools);
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast ItemEnum) {
        self.record(
            Rule::EnumVariants,
            Some(item.ident.to_string()),
            item.variants.len(),
        );
        visit::visit_item_enum(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::exceptions::{judge, load};
    use crate::tidy::{assert_none, source};

    #[test]
    fn nothing_is_larger_than_its_limit() {
        let measures: Vec<_> = source::sources().iter().flat_map(measure).collect();
        assert_none(&judge(&measures, &load(&RULES)));
    }

    fn check(text: &str, expected: &[(Rule, &str, usize)]) {
        let source = Source::parse("a.rs", text);
        let measures = measure(&source);
        let found: Vec<_> = measures
            .iter()
            .map(|m| (m.rule, m.item.as_str(), m.value))
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn functions_are_measured_without_comments_and_named_with_their_type() {
        check(
            "fn f() {\n    a();\n\n    // why\n    b();\n}\n",
            &[(Rule::FileLines, "a.rs", 6), (Rule::FunctionLines, "a.rs::f", 2)],
        );
        check(
            "impl Tr for T<U> {\n    fn g() {\n        x\n    }\n}\ntrait Tr { fn h() {} fn i(); }\n",
            &[
                (Rule::FileLines, "a.rs", 6),
                (Rule::FunctionLines, "a.rs::T::g", 1),
                (Rule::FunctionLines, "a.rs::Tr::h", 0),
            ],
        );
    }

    #[test]
    fn structs_and_enums_are_measured_by_their_parts() {
        check(
            "struct S { a: bool, b: Option<bool>, c: bool }\nenum E { A, B { x: bool } }\nstruct U;\n",
            &[
                (Rule::FileLines, "a.rs", 3),
                (Rule::StructFields, "a.rs::S", 3),
                (Rule::StructBools, "a.rs::S", 2),
                (Rule::EnumVariants, "a.rs::E", 2),
                (Rule::StructFields, "a.rs::U", 0),
                (Rule::StructBools, "a.rs::U", 0),
            ],
        );
    }

    #[test]
    fn a_test_module_counts_only_in_the_middle_of_a_file() {
        check(
            "const A: u8 = 1;\n#[cfg(test)]\nmod tests {\n}\n",
            &[(Rule::FileLines, "a.rs", 1)],
        );
        check(
            "#[cfg(test)]\nmod tests {\n}\nconst A: u8 = 1;\n",
            &[(Rule::FileLines, "a.rs", 4)],
        );
        check("mod other {\n}\n", &[(Rule::FileLines, "a.rs", 2)]);
    }
}
