; Functions, classes and methods; functions that are given a name by what they are assigned to; what a module exports.
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(class_declaration name: (_) @name) @class
(class name: (_) @name) @class
(method_definition name: (_) @name) @method
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression) (generator_function) (class)]) @function
(assignment_expression
  left: [(identifier) @name (member_expression property: (property_identifier) @name)]
  right: [(arrow_function) (function_expression) (generator_function) (class)]) @function
(pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @method
(program (lexical_declaration (variable_declarator name: (identifier) @name) @variable))
(program (variable_declaration (variable_declarator name: (identifier) @name) @variable))
(export_statement (lexical_declaration (variable_declarator name: (identifier) @name) @variable))
; What TypeScript adds.
(abstract_class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(type_alias_declaration name: (_) @name) @type
(enum_declaration name: (_) @name) @enum
(function_signature name: (identifier) @name) @function
(method_signature name: (_) @name) @method
(abstract_method_signature name: (_) @name) @method
(public_field_definition name: (_) @name value: [(arrow_function) (function_expression)]) @method
(internal_module name: (_) @name) @module
(module name: (identifier) @name) @module
