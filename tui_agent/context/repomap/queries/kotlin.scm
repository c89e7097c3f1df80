; Types, objects and functions.
(class_declaration name: (identifier) @name) @class
(object_declaration name: (identifier) @name) @object
(function_declaration name: (identifier) @name) @function
