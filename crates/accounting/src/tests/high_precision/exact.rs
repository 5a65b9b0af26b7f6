//! The same numbers in `dashu`.

use std::cmp::Ordering;
use std::ops::{Add, Div, Mul, Neg, Sub};

use dashu::float::FBig;
use dashu::float::round::mode::HalfEven;
use dashu::integer::IBig;
use ethnum::U256;

use super::Real;

type Float = FBig<HalfEven, 2>;

/// The bits that are kept.
const BITS: usize = 420;

/// A number of 420 bits, about 126 digits.
#[derive(Clone, Debug)]
pub(crate) struct Exact(Float);

fn kept(value: Float, bits: usize) -> Float {
    value.with_precision(bits).value()
}

impl Real for Exact {
    fn from_f64(value: f64) -> Exact {
        Exact(kept(Float::try_from(value).expect("a finite number"), BITS))
    }
    fn whole(value: u64) -> Exact {
        Exact(kept(Float::from(IBig::from(value)), BITS))
    }
    fn units(units: U256, places: u32) -> Exact {
        let units: IBig = units.to_string().parse().expect("digits");
        Exact(kept(Float::from(units), BITS) / kept(Float::from(IBig::from(10u8).pow(places as usize)), BITS))
    }
    fn to_f64(&self) -> f64 {
        self.0.to_f64().value()
    }
    fn sqrt(&self) -> Exact {
        if self.0 == Float::ZERO { self.clone() } else { Exact(self.0.sqrt()) }
    }
    fn exp(&self) -> Exact {
        if self.0 == Float::ZERO { Exact::whole(1) } else { Exact(self.0.exp()) }
    }
    fn exp_m1(&self) -> Exact {
        if self.0 == Float::ZERO { self.clone() } else { Exact(self.0.exp_m1()) }
    }
    fn ln(&self) -> Exact {
        Exact(self.0.ln())
    }
    fn ln_1p(&self) -> Exact {
        if self.0 == Float::ZERO { self.clone() } else { Exact(self.0.ln_1p()) }
    }

    fn upper_tail(&self) -> Exact {
        let near = self.to_f64();
        if near < 0.0 {
            return Exact::whole(1) - Exact(-self.0.clone()).upper_tail();
        }
        if near > super::NO_TAIL_BEYOND {
            return Exact::whole(0);
        }
        // Up to here ½ − φ(z) Σ z^{2k+1}/(2k+1)!! with as many more bits as the subtraction loses; beyond, Mills' ratio
        // 1/(z + 1/(z + 2/(z + …))) from its end.
        const SERIES_UP_TO: f64 = 25.0;
        let bits = BITS + 64 + if near < SERIES_UP_TO { (near * near) as usize } else { 0 };
        let z = kept(self.0.clone(), bits);
        let whole = |n: u64| kept(Float::from(IBig::from(n)), bits);
        let square = &z * &z;
        let density = (-&square / whole(2)).exp() / (Float::pi(bits) * whole(2)).sqrt();
        let tail = if near < SERIES_UP_TO {
            let (mut sum, mut term) = (z.clone(), z.clone());
            let smallest = z.clone() >> (bits as isize);
            for k in 1.. {
                term = term * &square / whole(2 * k + 1);
                sum += &term;
                if term <= smallest {
                    break;
                }
            }
            whole(1) / whole(2) - density * sum
        } else {
            let terms = super::fraction_terms(near, 130.0);
            density / (1..terms).rev().fold(z.clone(), |rest, n| &z + whole(n) / rest)
        };
        Exact(kept(tail, BITS))
    }
}

impl PartialEq for Exact {
    fn eq(&self, other: &Exact) -> bool {
        self.0 == other.0
    }
}

impl PartialOrd for Exact {
    fn partial_cmp(&self, other: &Exact) -> Option<Ordering> {
        self.0.partial_cmp(&other.0)
    }
}

impl Neg for Exact {
    type Output = Exact;
    fn neg(self) -> Exact {
        Exact(-self.0)
    }
}

macro_rules! operations {
    ($($trait:ident $method:ident),*) => {$(
        impl $trait for Exact {
            type Output = Exact;
            fn $method(self, other: Exact) -> Exact {
                Exact($trait::$method(self.0, other.0))
            }
        }
    )*};
}
operations!(Add add, Sub sub, Mul mul, Div div);
