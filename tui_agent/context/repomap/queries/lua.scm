; Functions, by their whole dotted name.
(function_declaration name: (_) @name) @function
(assignment_statement (variable_list name: (_) @name) (expression_list value: (function_definition))) @function
