//! Tokens of the text form.

use alloc::string::{String, ToString};
use core::iter::Peekable;
use core::str::CharIndices;

/// A piece of a selector's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// End of the text.
    End,
    /// A key or value, also the words `in` and `notin`.
    Word(String),
    /// One of `( ) , ! = == != > <`, or another run of these characters, which nothing accepts.
    Symbol(String),
}

impl Token {
    /// The text as it is shown in errors.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::End => "",
            Self::Word(text) | Self::Symbol(text) => text,
        }
    }

    /// Whether it is this symbol.
    pub(super) fn is(&self, symbol: &str) -> bool {
        matches!(self, Self::Symbol(text) if text == symbol)
    }
}

/// Cuts the text into tokens.
pub(super) struct Lexer<'a> {
    text: &'a str,
    rest: Peekable<CharIndices<'a>>,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            rest: text.char_indices().peekable(),
        }
    }

    /// The next token; `End` again and again at the end.
    pub(super) fn next(&mut self) -> Token {
        while self.rest.next_if(|(_, c)| is_space(*c)).is_some() {}
        let Some(&(start, first)) = self.rest.peek() else {
            return Token::End;
        };
        if is_special(first) {
            return self.symbol();
        }
        while self
            .rest
            .next_if(|(_, c)| !is_special(*c) && !is_space(*c))
            .is_some()
        {}
        let end = self.rest.peek().map_or(self.text.len(), |(at, _)| *at);
        Token::Word(self.text[start..end].to_string())
    }

    /// The longest known symbol that can be read here.
    fn symbol(&mut self) -> Token {
        let mut text = String::new();
        while let Some(&(_, c)) = self.rest.peek() {
            let mut longer = text.clone();
            longer.push(c);
            if !is_special(c) || !(text.is_empty() || is_symbol(&longer)) {
                break;
            }
            text = longer;
            self.rest.next();
        }
        Token::Symbol(text)
    }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn is_special(c: char) -> bool {
    matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}

fn is_symbol(text: &str) -> bool {
    matches!(text, "=" | "==" | "!=" | "!" | "(" | ")" | "," | ">" | "<")
}
