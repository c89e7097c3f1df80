"""L9: command lines that the policy is judged on. *Invariant: a line's place follows from what it does, never from what the policy says of it.*"""
