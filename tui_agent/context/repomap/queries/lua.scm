; Functions, by their whole dotted name.
(function_declaration name: (_) @name) @function
