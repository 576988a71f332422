use proc_macro2::TokenStream;
use quote::quote;
use syn::punctuated::Punctuated;
use syn::{GenericParam, Generics, Token, Type, TypeParamBound, WherePredicate, parse_quote};

use crate::attributes::{Field, Role};

/// Sized, and with layouts where they are embedded.
pub(crate) fn of_implementation(
    generics: &Generics,
    fields: &[Field<'_>],
    trait_path: &TokenStream,
) -> Generics {
    let mut generics = generics.clone();
    for parameter in generics.type_params_mut() {
        require_sized(&mut parameter.bounds);
    }
    if let Some(clause) = &mut generics.where_clause {
        for predicate in &mut clause.predicates {
            if let WherePredicate::Type(predicate) = predicate {
                require_sized(&mut predicate.bounds);
            }
        }
    }
    if has_instances(&generics) {
        for field in fields.iter().filter(|field| matches!(field.role, Some(Role::Embed))) {
            let ty = field.ty;
            generics.make_where_clause().predicates.push(parse_quote!(#ty: #trait_path));
        }
    }
    generics
}

/// Lifetimes change no layout.
pub(crate) fn has_instances(generics: &Generics) -> bool {
    generics.params.iter().any(|parameter| !matches!(parameter, GenericParam::Lifetime(_)))
}

/// Whether a type is a parameter of the struct, or belongs to one: `C`, `M::Word`, `<M as Memory>::Word`.
pub(crate) fn is_parameter(generics: &Generics, ty: &Type) -> bool {
    match ty {
        Type::Path(path) => match &path.qself {
            Some(of) => is_parameter(generics, &of.ty),
            None => path.path.segments.first().is_some_and(|first| {
                generics.type_params().any(|parameter| parameter.ident == first.ident)
            }),
        },
        Type::Group(group) => is_parameter(generics, &group.elem),
        Type::Paren(paren) => is_parameter(generics, &paren.elem),
        _ => false,
    }
}

/// Code for a struct that has lifetime parameters only.
pub(crate) fn all_static(generics: &Generics) -> TokenStream {
    let lifetimes = generics.lifetimes().map(|_| quote!('static));
    quote!(<#(#lifetimes),*>)
}

fn require_sized(bounds: &mut Punctuated<TypeParamBound, Token![+]>) {
    let is_maybe =
        |bound: &TypeParamBound| matches!(bound, TypeParamBound::Trait(t) if t.maybe.is_some());
    *bounds = std::mem::take(bounds).into_iter().filter(|bound| !is_maybe(bound)).collect();
}
