//! The grammar of the text form: `key`, `!key`, `key op value`, `key in (a,b)`, joined by commas.

use super::lexer::{Lexer, Token};
use super::{Operator, Requirement, sorted, syntax};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Text that is no selector, in upstream's words: the message of a 400 answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseError(pub String);

/// How messages about one requirement begin.
const PREFIX: &str = "unable to parse requirement: ";

pub(super) fn parse(text: &str) -> Result<Vec<Requirement>, ParseError> {
    let mut parser = Parser::new(text);
    let mut requirements = Vec::new();
    loop {
        match &parser.ahead {
            Token::End => return Ok(requirements),
            Token::Word(_) => {}
            token @ Token::Symbol(_) if token.is("!") => {}
            token @ Token::Symbol(_) => {
                return Err(found(token, "!, identifier, or 'end of string'"));
            }
        }
        requirements.push(parser.requirement()?);
        match parser.take() {
            Token::End => return Ok(requirements),
            token if token.is(",") => parser.expect_another()?,
            token => return Err(found(&token, "',' or 'end of string'")),
        }
    }
}

fn found(token: &Token, expected: &str) -> ParseError {
    ParseError(format!("found '{}', expected: {expected}", token.text()))
}

fn refused(problem: impl core::fmt::Display) -> ParseError {
    ParseError(format!("{PREFIX}{problem}"))
}

fn unexpected(token: &Token, expected: &str) -> ParseError {
    refused(found(token, expected))
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    ahead: Token,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        let mut lexer = Lexer::new(text);
        let ahead = lexer.next();
        Self { lexer, ahead }
    }

    fn take(&mut self) -> Token {
        let next = self.lexer.next();
        core::mem::replace(&mut self.ahead, next)
    }

    /// After a comma there must be another requirement.
    fn expect_another(&self) -> Result<(), ParseError> {
        match &self.ahead {
            Token::Word(_) => Ok(()),
            token if token.is("!") => Ok(()),
            token => Err(found(token, "identifier after ','")),
        }
    }

    fn requirement(&mut self) -> Result<Requirement, ParseError> {
        let negated = self.ahead.is("!");
        if negated {
            self.take();
        }
        let key = match self.take() {
            Token::Word(key) => key,
            token => return Err(unexpected(&token, "identifier")),
        };
        syntax::check_key(&key)
            .map_err(|e| refused(format!("<nil>: Invalid value: {key:?}: {e}")))?;
        if negated {
            return Ok(Requirement {
                key,
                operator: Operator::DoesNotExist,
                values: Vec::new(),
            });
        }
        if self.ahead == Token::End || self.ahead.is(",") {
            return Ok(Requirement {
                key,
                operator: Operator::Exists,
                values: Vec::new(),
            });
        }
        let operator = self.operator()?;
        let values = match operator {
            Operator::In | Operator::NotIn => self.set()?,
            _ => alloc::vec![self.value()?],
        };
        check(&key, operator, &values)?;
        Ok(Requirement {
            key,
            operator,
            values: sorted(values),
        })
    }

    fn operator(&mut self) -> Result<Operator, ParseError> {
        let token = self.take();
        Ok(match token.text() {
            "in" => Operator::In,
            "notin" => Operator::NotIn,
            "=" => Operator::Equals,
            "==" => Operator::DoubleEquals,
            "!=" => Operator::NotEquals,
            ">" => Operator::GreaterThan,
            "<" => Operator::LessThan,
            _ => return Err(unexpected(&token, "in, notin, =, ==, !=, gt, lt")),
        })
    }

    /// The value after an operator; nothing stands for the empty value.
    fn value(&mut self) -> Result<String, ParseError> {
        match &self.ahead {
            Token::End => Ok(String::new()),
            Token::Word(_) => Ok(self.take().text().to_string()),
            token @ Token::Symbol(_) if token.is(",") => Ok(String::new()),
            token @ Token::Symbol(_) => Err(unexpected(token, "identifier")),
        }
    }

    /// `(a,b,)`: an absent value between commas or parentheses is the empty one.
    fn set(&mut self) -> Result<Vec<String>, ParseError> {
        let open = self.take();
        if !open.is("(") {
            return Err(refused(format!("found '{}' expected: '('", open.text())));
        }
        let mut values = Vec::new();
        loop {
            match self.take() {
                Token::Word(value) => {
                    values.push(value);
                    match self.take() {
                        token if token.is(")") => return Ok(values),
                        token if token.is(",") && self.ahead.is(")") => {
                            values.push(String::new());
                            self.take();
                            return Ok(values);
                        }
                        token if token.is(",") => {}
                        token => return Err(unexpected(&token, "',' or ')'")),
                    }
                }
                token if token.is(")") => {
                    values.push(String::new());
                    return Ok(values);
                }
                token if token.is(",") => {
                    values.push(String::new());
                    if self.ahead.is(")") {
                        self.take();
                        return Ok(values);
                    }
                }
                token => return Err(unexpected(&token, "',', ')' or identifier")),
            }
        }
    }
}

/// A comparison needs an integer; every value must be a label value.
fn check(key: &str, operator: Operator, values: &[String]) -> Result<(), ParseError> {
    if matches!(operator, Operator::GreaterThan | Operator::LessThan) {
        let no_integer = |(_, value): &(usize, &String)| value.parse::<i64>().is_err();
        if let Some((at, value)) = values.iter().enumerate().find(no_integer) {
            return Err(refused(format!(
                "values[{at}]: Invalid value: {value:?}: for 'Gt', 'Lt' operators, the value must be an integer"
            )));
        }
    }
    for (at, value) in values.iter().enumerate() {
        syntax::check_value(value).map_err(|e| {
            refused(format!(
                "values[{at}][{key}]: Invalid value: {value:?}: {e}"
            ))
        })?;
    }
    Ok(())
}
