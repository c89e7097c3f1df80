; Types, objects and functions.
(class_definition name: (_) @name) @class
(object_definition name: (_) @name) @object
(trait_definition name: (_) @name) @trait
(enum_definition name: (_) @name) @enum
(function_definition name: (_) @name) @function
(function_declaration name: (_) @name) @function
