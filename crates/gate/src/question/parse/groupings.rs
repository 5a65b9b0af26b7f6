//! ROLLUP, CUBE and GROUPING SETS: one SELECT for each grouping, all of them asked and paid together, as in a UNION ALL.
//!
//! A total is measured, and not added up from the noisy groups below it: so it is of all rows that SQL has in it, also of those whose key
//! is null or not declared, and its noise does not grow with the number of groups.

use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, GroupByWithModifier,
    Ident, Select, SelectItem, Value as Written, ValueWithSpan,
};
use sqlparser::tokenizer::Span;

use super::super::group::ALL;
use super::limits;
use super::reader::{Reader, is_called, plain};
use super::walk::{Walker, walk};
use crate::error::Error;

impl Reader<'_> {
    /// A SELECT for each of its groupings; only itself if it has one.
    pub(super) fn groupings(&self, select: &Select) -> Result<Vec<Select>, Error> {
        let GroupByExpr::Expressions(expressions, modifiers) = &select.group_by else {
            return Ok(vec![select.clone()]);
        };
        let mut elements: Vec<Vec<Vec<Expr>>> = Vec::new();
        match modifiers.as_slice() {
            [] => elements.extend(expressions.iter().map(sets)),
            [GroupByWithModifier::Rollup] => elements.push(prefixes(&alone(expressions))),
            [GroupByWithModifier::Cube] => elements.push(subsets(&alone(expressions))),
            _ => return Err(self.beyond()),
        }
        if elements.iter().all(|element| element.len() == 1) && modifiers.is_empty() {
            return Ok(vec![select.clone()]);
        }
        let mut all: Vec<Vec<Expr>> = vec![Vec::new()];
        for element in elements {
            if all.len().saturating_mul(element.len()) > limits::SELECTS {
                let message =
                    format!("this has more than {} groupings: name fewer, with GROUPING SETS", limits::SELECTS);
                return Err(self.item_refusal(select.projection.first(), message));
            }
            let longer =
                |set: &Vec<Expr>| element.iter().map(|more| [set.as_slice(), more].concat()).collect::<Vec<_>>();
            all = all.iter().flat_map(longer).collect();
        }
        for key in all.iter_mut().flatten() {
            self.named_key(key, &select.projection);
        }
        let mut keys: Vec<Expr> = Vec::new();
        for key in all.iter().flatten() {
            if !keys.contains(key) {
                keys.push(key.clone());
            }
        }
        let windows = select.projection.iter().any(has_window);
        if windows {
            let message = "window functions do not work with several groupings: ask for one grouping";
            return Err(self.item_refusal(select.projection.first(), message));
        }
        Ok(all.into_iter().map(|set| one_grouping(select, set, &keys)).collect())
    }

    /// A key that is the place of a column of the answer, or its alias, written out.
    fn named_key(&self, key: &mut Expr, items: &[SelectItem]) {
        let found = match plain(key) {
            Expr::Value(ValueWithSpan { value: Written::Number(digits, false), .. }) => {
                let place = digits.parse::<usize>().ok().and_then(|place| place.checked_sub(1));
                place.and_then(|place| items.get(place))
            }
            Expr::Identifier(name) if !self.view.is_name(&name.value) => items
                .iter()
                .find(|item| matches!(item, SelectItem::ExprWithAlias { alias, .. } if is_called(alias, &name.value))),
            _ => None,
        };
        if let Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = found {
            *key = expr.clone();
        }
        *key = plain(key).clone();
    }
}

/// The sets of keys that an element of GROUP BY stands for.
fn sets(element: &Expr) -> Vec<Vec<Expr>> {
    match element {
        Expr::Rollup(keys) => prefixes(keys),
        Expr::Cube(keys) => subsets(keys),
        Expr::GroupingSets(sets) => sets.clone(),
        Expr::Tuple(keys) => vec![keys.clone()],
        key => vec![vec![key.clone()]],
    }
}

fn alone(keys: &[Expr]) -> Vec<Vec<Expr>> {
    keys.iter().map(|key| vec![key.clone()]).collect()
}

/// All keys, all but the last, and so on to none.
fn prefixes(keys: &[Vec<Expr>]) -> Vec<Vec<Expr>> {
    (0..=keys.len()).rev().map(|count| keys[..count].concat()).collect()
}

/// All keys, and all parts of them down to none. There are not many: too many are refused.
fn subsets(keys: &[Vec<Expr>]) -> Vec<Vec<Expr>> {
    let few = keys.len().min(6);
    let chosen = |set: usize| (0..few).filter(move |at| set >> (few - 1 - at) & 1 == 1);
    (0..1usize << few).rev().map(|set| chosen(set).flat_map(|at| keys[at].clone()).collect()).collect()
}

/// A SELECT with some of the keys: the others are the same in all its rows.
fn one_grouping(select: &Select, set: Vec<Expr>, keys: &[Expr]) -> Select {
    let mut one = select.clone();
    let absent = keys.iter().filter(|key| !set.contains(key)).cloned().collect();
    let mut keys: Vec<Expr> = Vec::new();
    for key in set {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let mut absence = Absence { absent, present: keys.clone() };
    for item in &mut one.projection {
        let name = match item {
            SelectItem::UnnamedExpr(expr) => Some(super::groups::name_of(expr)),
            _ => None,
        };
        let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else { continue };
        let was_absent = absence.is_absent(expr);
        let _ = walk(expr, &mut absence);
        if was_absent {
            *expr = text(ALL);
        }
        // A column keeps its name.
        if let (Some(name), SelectItem::UnnamedExpr(expr)) = (name, item.clone()) {
            *item = SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', name) };
        }
    }
    let _ = walk(&mut one.having, &mut absence);
    let _ = walk(&mut one.qualify, &mut absence);
    one.group_by = GroupByExpr::Expressions(keys, Vec::new());
    one
}

/// Writes null in the place of keys that are not grouped by, and what follows from it.
struct Absence {
    absent: Vec<Expr>,
    present: Vec<Expr>,
}

impl Absence {
    fn is_absent(&self, expression: &Expr) -> bool {
        self.absent.contains(plain(expression))
    }
}

impl Walker for Absence {
    fn enter_expr(&mut self, expression: &mut Expr) {
        // GROUPING(key) is 1 where the key is not grouped by.
        if let Some(key) =
            called(expression, "GROUPING").and_then(|arguments| arguments.first().map(|key| plain(key).clone()))
            && (self.absent.contains(&key) || self.present.contains(&key))
        {
            let digit = u8::from(self.absent.contains(&key));
            *expression = Expr::value(Written::Number(digit.to_string(), false));
        } else if self.is_absent(expression) {
            *expression = Expr::value(Written::Null);
        }
    }

    fn leave_expr(&mut self, expression: &mut Expr) {
        if let Some(simpler) = self.simpler(expression) {
            *expression = simpler;
        }
    }
}

impl Absence {
    /// What an expression is where its value is known now.
    fn simpler(&self, expression: &Expr) -> Option<Expr> {
        if let Some(arguments) =
            ["COALESCE", "IFNULL", "NVL", "ISNULL"].iter().find_map(|name| called(expression, name))
        {
            // The value of a group is never null.
            let known: Vec<&Expr> = arguments.into_iter().filter(|argument| !is_null(argument)).collect();
            return match known.first() {
                Some(first) if self.present.contains(plain(first)) || is_literal(first) => Some((*first).clone()),
                _ => None,
            };
        }
        match expression {
            Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => {
                let (Some(one), Some(other)) = (digits(left), digits(right)) else { return None };
                Some(Expr::value(Written::Boolean(one == other)))
            }
            Expr::Case { operand: None, conditions, else_result, .. } => {
                let holds = |condition: &Expr| match plain(condition) {
                    Expr::Value(ValueWithSpan { value: Written::Boolean(holds), .. }) => Some(*holds),
                    _ => None,
                };
                let mut open = conditions.iter().skip_while(|when| holds(&when.condition) == Some(false));
                match open.next() {
                    Some(when) if holds(&when.condition) == Some(true) => Some(when.result.clone()),
                    Some(_) => None,
                    None => Some(else_result.as_ref().map_or(Expr::value(Written::Null), |result| (**result).clone())),
                }
            }
            _ => None,
        }
    }
}

/// The arguments of a function of this name.
fn called<'e>(expression: &'e Expr, name: &str) -> Option<Vec<&'e Expr>> {
    let Expr::Function(Function { name: own, args: FunctionArguments::List(list), over: None, .. }) = expression else {
        return None;
    };
    let argument = |argument: &'e FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => Some(argument),
        _ => None,
    };
    own.to_string().eq_ignore_ascii_case(name).then(|| list.args.iter().filter_map(argument).collect())
}

fn has_window(item: &SelectItem) -> bool {
    struct WindowSearch(bool);
    impl Walker for WindowSearch {
        fn enter_expr(&mut self, expression: &mut Expr) {
            self.0 |= matches!(expression, Expr::Function(function) if function.over.is_some());
        }
    }
    let mut found = WindowSearch(false);
    let _ = walk(&mut item.clone(), &mut found);
    found.0
}

fn is_null(expression: &Expr) -> bool {
    matches!(plain(expression), Expr::Value(ValueWithSpan { value: Written::Null, .. }))
}

fn is_literal(expression: &Expr) -> bool {
    matches!(plain(expression), Expr::Value(_))
}

fn digits(expression: &Expr) -> Option<&str> {
    match plain(expression) {
        Expr::Value(ValueWithSpan { value: Written::Number(digits, false), .. }) => Some(digits),
        _ => None,
    }
}

fn text(text: &str) -> Expr {
    Expr::Value(ValueWithSpan { value: Written::SingleQuotedString(text.to_string()), span: Span::empty() })
}
