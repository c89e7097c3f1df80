"""Full screens: header and footer stay in place, the body is another one."""
