; What a Python file defines: functions, classes, and names bound at the top of the module or of a class.
(function_definition name: (identifier) @name) @function
(class_definition name: (identifier) @name) @class
(module (expression_statement (assignment left: (identifier) @name) @variable))
(class_definition body: (block (expression_statement (assignment left: (identifier) @name) @variable)))
