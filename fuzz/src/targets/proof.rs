//! Proofs of inclusion and of consistency: those that are made pass, and those that are changed fail.

use std::convert::Infallible;
use std::ops::Range;

use taximeter_transparency::{
    Frontier, NodeHash, check_consistency, check_inclusion, consistency_path, inclusion_path,
};

/// The most leaves. Trees of all forms are among these.
const LARGEST: u8 = 65;

/// The bytes are a size, the place of a leaf, the size of an older tree, and what is changed in the proofs.
pub fn check(data: &[u8]) {
    let [size, index, old, changes @ ..] = data else { return };
    let leaves: Vec<NodeHash> = (0..=size % LARGEST).map(|at| NodeHash::leaf(&[at; 32])).collect();
    let size = leaves.len() as u64;
    let (index, old) = (u64::from(*index) % size, u64::from(*old) % (size + 1));
    let root = |of: Range<u64>| Frontier::of(&leaves[of.start as usize..of.end as usize]).root();
    let node = |of: Range<u64>| Ok::<_, Infallible>(root(of));
    let leaf = leaves[index as usize];

    let Ok(path) = inclusion_path(index, size, node);
    assert_eq!(check_inclusion(leaf, index, size, &path, root(0..size)), Ok(()));
    let changed = changed(&path, changes);
    if changed != path {
        assert!(check_inclusion(leaf, index, size, &changed, root(0..size)).is_err());
    }
    for other in (0..size).filter(|other| *other != index) {
        assert!(check_inclusion(leaf, other, size, &path, root(0..size)).is_err(), "{index} as {other} of {size}");
    }

    let Ok(path) = consistency_path(old, size, node);
    let (older, newer) = ((old, root(0..old)), (size, root(0..size)));
    assert_eq!(check_consistency(older, newer, &path), Ok(()));
    assert_eq!(Frontier::of(&leaves[..old as usize]).extension(&leaves[old as usize..]), path);
    let changed = self::changed(&path, changes);
    if changed != path {
        assert!(check_consistency(older, newer, &changed).is_err(), "{old} of {size}");
    }
    if old > 0 {
        assert!(check_consistency((old, leaf), newer, &path).is_err() || leaf == older.1);
        assert!(check_consistency(older, (size, leaf), &path).is_err() || leaf == newer.1);
    }
}

/// A proof with changes: parts taken out, put in, replaced and moved.
fn changed(path: &[NodeHash], changes: &[u8]) -> Vec<NodeHash> {
    let mut path = path.to_vec();
    for [what, at, value] in changes.as_chunks::<3>().0 {
        let at = usize::from(*at) % (path.len() + 1);
        let part = NodeHash::leaf(&[*value; 32]);
        match what % 4 {
            0 => path.insert(at, part),
            1 if at < path.len() => path[at] = part,
            2 if at < path.len() => _ = path.remove(at),
            3 if at < path.len() => path.swap(at, usize::from(*value) % at.max(1)),
            _ => {}
        }
    }
    path
}
