package dev.weir.service;

import dev.weir.app.Questions;

/** The enforcer that this service speaks for. */
record Instance(Rulebook rules, Questions questions) {}
