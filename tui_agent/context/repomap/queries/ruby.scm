; Modules, classes, methods and constants.
(module name: (_) @name) @module
(class name: (_) @name) @class
(method name: (_) @name) @method
(singleton_method name: (_) @name) @method
(assignment left: (constant) @name) @constant
