; Items of a crate; what an implementation is of gives it its name.
(function_item name: (identifier) @name) @function
(function_signature_item name: (identifier) @name) @function
(struct_item name: (type_identifier) @name) @struct
(enum_item name: (type_identifier) @name) @enum
(union_item name: (type_identifier) @name) @struct
(trait_item name: (type_identifier) @name) @trait
(type_item name: (type_identifier) @name) @type
(impl_item type: [(type_identifier) @name (generic_type type: (type_identifier) @name)]) @impl
(mod_item name: (identifier) @name) @module
(macro_definition name: (identifier) @name) @macro
(source_file (const_item name: (identifier) @name) @constant)
(source_file (static_item name: (identifier) @name) @variable)
