//! The implementation that the derive writes.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::{Data, DeriveInput, Error, Generics, Result};

use crate::attributes::{Field, OfStruct, Role};
use crate::generics;

pub(crate) fn line_layout(input: &DeriveInput) -> Result<TokenStream> {
    let data = match &input.data {
        Data::Struct(data) => data,
        Data::Enum(data) => return Err(not_a_struct(data.enum_token.span)),
        Data::Union(data) => return Err(not_a_struct(data.union_token.span)),
    };
    let of_struct = OfStruct::parse(&input.attrs)?;
    let fields = Field::parse_all(data)?;
    every_declared_group_has_a_field(&of_struct, &fields)?;

    let line = match &of_struct.tenure {
        Some(tenure) => quote!(#tenure::cache_line),
        None => quote!(::tenure::cache_line),
    };
    let layout = layout(input, &of_struct, &fields, &line);
    let implementation = implementation(input, &fields, &line, &layout);
    let check = check(input, &line);
    Ok(quote!(#implementation #check))
}

fn not_a_struct(span: Span) -> Error {
    Error::new(span, "`LineLayout` is for structs: only their fields have offsets of their own")
}

/// A group that is declared under one name and used under another is an error.
fn every_declared_group_has_a_field(of_struct: &OfStruct, fields: &[Field<'_>]) -> Result<()> {
    for group in &of_struct.groups {
        let name = group.name.value();
        if !fields.iter().any(|field| field.group.as_ref().is_some_and(|of| of.value() == name)) {
            return Err(Error::new_spanned(&group.name, "no field is in this group"));
        }
    }
    Ok(())
}

fn layout(
    input: &DeriveInput,
    of_struct: &OfStruct,
    fields: &[Field<'_>],
    line: &TokenStream,
) -> TokenStream {
    let name = input.ident.unraw().to_string();
    let fields = fields.iter().map(|field| described(field, &input.generics, line));
    let assume_aligned = of_struct.assume_aligned.then(|| quote!(.assume_aligned()));
    let apart = of_struct.apart.iter().map(|bytes| quote!(.apart(#bytes)));
    let groups = (!of_struct.groups.is_empty()).then(|| {
        let groups = of_struct.groups.iter().map(|group| {
            let (name, lines) = (&group.name, group.lines);
            quote!((#name, #lines))
        });
        quote!(.groups(&[#(#groups),*]))
    });
    quote! {
        #line::Layout::of::<Self>(
            #name,
            const {
                #[allow(unused_imports)] // Without fields, or with `CachePadded` ones only.
                use #line::UsedBytes as _;
                &[#(#fields),*]
            },
        )
            #assume_aligned #(#apart)* #groups
    }
}

fn described(field: &Field<'_>, generics: &Generics, line: &TokenStream) -> TokenStream {
    let (name, member, ty) = (field.name(), &field.member, field.ty);
    let role = field.role.map(|role| {
        let role = match role {
            Role::Contended => quote!(Contended),
            Role::ReadMostly => quote!(ReadMostly),
            Role::Cold => quote!(Cold),
            Role::Embed => {
                let layout = quote_spanned!(field.type_span()=> <#ty as #line::LineLayout>::LAYOUT);
                quote!(Embedded(#layout))
            }
        };
        quote!(.role(#line::Role::#role))
    });
    let group = field.group.iter().map(|name| quote!(.group(#name)));
    // A parameter may be a `CachePadded`: which of its bytes hold something is unknown here.
    let opaque = generics::is_parameter(generics, ty)
        .then(|| quote!(.opaque(::core::mem::align_of::<#ty>())));
    quote! {
        #line::Field::new(
            #name,
            ::core::mem::offset_of!(Self, #member),
            #line::Used::<#ty>::BYTES,
        ) #role #(#group)* #opaque
    }
}

fn implementation(
    input: &DeriveInput,
    fields: &[Field<'_>],
    line: &TokenStream,
    layout: &TokenStream,
) -> TokenStream {
    let name = &input.ident;
    let trait_path = quote!(#line::LineLayout);
    let generics = generics::of_implementation(&input.generics, fields, &trait_path);
    let (parameters, _, conditions) = generics.split_for_impl();
    let (_, arguments, _) = input.generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #parameters #trait_path for #name #arguments #conditions {
            const LAYOUT: &'static #line::Layout = &#layout;
        }
    }
}

/// The check as a constant where the struct is defined, if it has a single layout.
fn check(input: &DeriveInput, line: &TokenStream) -> Option<TokenStream> {
    if generics::has_instances(&input.generics) {
        return None;
    }
    let name = &input.ident;
    let arguments = generics::all_static(&input.generics);
    // The compiler points to the span of the whole call: the struct's name.
    let call = quote_spanned!(name.span()=> check::<#name #arguments>());
    let check = quote_spanned!(name.span()=> check);
    Some(quote! {
        const _: () = {
            use #line::#check;
            #call
        };
    })
}
