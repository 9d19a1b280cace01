use super::{unauthenticated::*, *};
use std::{collections::VecDeque, net::Ipv6Addr, time::Duration};

const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

#[test]
fn address_has_64_slots() {
    let limits = Limits::default();
    let address = IpAddr::from([127, 0, 0, 1]);
    let slots: Vec<ConnectionSlot> = std::iter::from_fn(|| limits.ios_slot(address)).collect();
    assert_eq!(slots.len(), PER_DEVICE);
    assert!(limits.ios_slot(IpAddr::from([127, 0, 0, 2])).is_some());
    drop(slots);
    assert!(limits.ios_slot(address).is_some());
}

#[test]
fn device_has_64_slots_and_loopback_all() {
    let limits = Limits::default();
    let device = Who::Device("a".into());
    let slots: Vec<ConnectionSlot> = std::iter::from_fn(|| limits.slot(&device)).collect();
    assert_eq!(slots.len(), PER_DEVICE);
    let local: Vec<ConnectionSlot> = std::iter::from_fn(|| limits.slot(&Who::Local)).collect();
    assert_eq!(local.len(), TOTAL - PER_DEVICE);
    assert!(limits.slot(&Who::Device("b".into())).is_none());
    drop(slots);
    assert!(limits.slot(&Who::Device("b".into())).is_some());
    // Refused connections are not counted.
    assert_eq!(limits.connections.len(), 0);
}

#[test]
fn addresses_are_counted_by_network() {
    for (address, expected) in [
        ("192.168.1.9", "192.168.1.9"),
        ("::ffff:192.168.1.9", "192.168.1.9"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2::", "2001:db8:1:2::"),
        // Local addresses are counted one by one.
        ("fe80::1", "fe80::1"),
        ("fd12:3:4:5::6", "fd12:3:4:5::6"),
    ] {
        let address: IpAddr = address.parse().unwrap();
        assert_eq!(limit_key(address).to_string(), expected, "{address}");
    }
}

#[tokio::test(start_paused = true)]
async fn full_address_evicts_only_its_own() {
    let limits = Limits::default();
    let (crowd, other) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
    let quiet = limits.unauthenticated(other, Listener::Web).unwrap();
    // Each evicted connection is gone before the next one arrives.
    let mut kept = VecDeque::new();
    for _ in 0..10_000 {
        kept.push_back(limits.unauthenticated(crowd, Listener::Web).unwrap());
        if kept.len() > UNAUTHENTICATED_PER_ADDRESS {
            kept.pop_front().unwrap().expired().await;
        }
    }
    assert!(!quiet.is_evicted());
    // When all slots are taken, the address with the most connections loses one.
    let many: Vec<_> = (0..300u16)
        .filter_map(|n| limits.unauthenticated(Ipv6Addr::new(1, 2, 3, n, 0, 0, 0, 0).into(), Listener::Web))
        .collect();
    assert_eq!((many.len(), limits.unauthenticated_of_network.len()), (300, UNAUTHENTICATED));
    assert!(kept[0].is_evicted());
}

/// Regression: a page that took longer than five seconds to load on a slow network was cut off.
#[tokio::test(start_paused = true)]
async fn progress_extends_the_deadline() {
    let limits = Limits::default();
    let slow = limits.unauthenticated(HERE, Listener::Web).unwrap();
    let begun = tokio::time::Instant::now();
    let reading = async {
        for _ in 0..20 {
            tokio::time::sleep(Duration::from_secs(4)).await;
            slow.progress();
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = reading => {}
        () = slow.expired() => {}
    }
    let idle = begun.elapsed() - Duration::from_secs(80);
    assert!(idle >= UNAUTHENTICATED_TIME && idle <= 2 * UNAUTHENTICATED_TIME, "{idle:?}");
}

#[tokio::test(start_paused = true)]
async fn idle_connections_never_block_a_new_one() {
    let limits = Limits::default();
    let idle: Vec<Unauthenticated> =
        (0..120).filter_map(|_| limits.unauthenticated(HERE, Listener::Web)).collect();
    let new = limits.unauthenticated(HERE, Listener::Web).unwrap();
    assert!(!new.is_evicted());
    for unauthenticated in &idle[..120 - UNAUTHENTICATED_PER_ADDRESS + 1] {
        unauthenticated.expired().await;
    }
    assert_eq!(limits.unauthenticated_of_network.len(), UNAUTHENTICATED_PER_ADDRESS);
    drop(idle);
    assert_eq!(limits.unauthenticated_of_network.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn released_connection_does_not_expire() {
    let limits = Limits::default();
    let released = limits.unauthenticated(HERE, Listener::Web).unwrap();
    released.release();
    let crowd: Vec<_> = std::iter::from_fn(|| limits.unauthenticated(HERE, Listener::Web)).collect();
    let stayed = tokio::time::timeout(UNAUTHENTICATED_TIME * 10, released.expired()).await;
    assert!(stayed.is_err());
    crowd.last().unwrap().expired().await;
}

#[tokio::test(start_paused = true)]
async fn refused_connection_expires_unless_it_is_released() {
    let limits = Limits::default();
    let connect = || limits.unauthenticated(HERE, Listener::Web).unwrap();
    let (unauthenticated, released) = (connect(), connect());
    unauthenticated.refuse();
    released.refuse();
    released.release();
    unauthenticated.expired().await;
    assert!(tokio::time::timeout(UNAUTHENTICATED_TIME * 10, released.expired()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn multiplexed_connection_keeps_slot_on_refusal() {
    let limits = Limits::default();
    let unauthenticated = limits.unauthenticated(HERE, Listener::Web).unwrap();
    unauthenticated.has_more_requests();
    unauthenticated.refuse();
    assert_eq!(limits.unauthenticated_of_network.len(), 1);
    let begun = tokio::time::Instant::now();
    unauthenticated.expired().await;
    assert_eq!(begun.elapsed(), UNAUTHENTICATED_TIME);
    drop(unauthenticated);
    assert_eq!(limits.unauthenticated_of_network.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn held_connection_expires_after_its_last_hold() {
    let limits = Limits::default();
    let connect = || limits.unauthenticated(HERE, Listener::Web).unwrap();
    let (one, two) = (connect(), connect());
    let (first, second) = (one.hold(), one.hold());
    let crowd: Vec<_> = (0..100).map(|_| connect()).collect();
    assert!(!one.is_evicted() && two.is_evicted());
    assert!(tokio::time::timeout(UNAUTHENTICATED_TIME * 10, one.expired()).await.is_err());
    drop(first);
    assert!(tokio::time::timeout(UNAUTHENTICATED_TIME * 10, one.expired()).await.is_err());
    drop(second);
    let begun = tokio::time::Instant::now();
    one.expired().await;
    assert_eq!(begun.elapsed(), UNAUTHENTICATED_TIME);
    let _next = connect();
    assert!(one.is_evicted());
    drop(crowd);
}

#[tokio::test(start_paused = true)]
async fn device_sockets_are_counted_and_revoked() {
    let limits = Limits::default();
    let pass = |id: &str| Pass::new(Who::Device(id.into()), openagents_wire::Scope::View, id);
    let (phone, tablet) = (pass("phone"), pass("tablet"));
    let connect = || limits.unauthenticated(HERE, Listener::Web).unwrap();
    let sockets: Vec<_> = (0..SOCKETS_PER_DEVICE).map(|_| connect()).collect();
    assert!(sockets.iter().all(|socket| limits.authenticate(socket, &phone)));
    assert!(limits.authenticate(&sockets[0], &phone), "counted once");
    let (one_more, other) = (connect(), connect());
    assert!(!limits.authenticate(&one_more, &phone) && limits.authenticate(&other, &tablet));
    assert!(tokio::time::timeout(UNAUTHENTICATED_TIME * 10, sockets[0].expired()).await.is_err());
    phone.revoked.cancel();
    sockets[0].expired().await;
    assert!(tokio::time::timeout(UNAUTHENTICATED_TIME * 10, other.expired()).await.is_err());
    drop(sockets);
    assert!(limits.authenticate(&one_more, &phone));
}

#[test]
fn network_takes_no_loopback_slot() {
    let limits = Limits::default();
    let local = limits.unauthenticated(HERE, Listener::Loopback).unwrap();
    let address = |n: u16| IpAddr::from((0x0A00_0000 + u32::from(n)).to_be_bytes());
    let crowd: Vec<_> = (0..1_000).map(|n| limits.unauthenticated(address(n), Listener::Web)).collect();
    assert!(!local.is_evicted() && crowd.iter().flatten().any(Unauthenticated::is_evicted));
}

#[test]
fn socket_counts_until_closed() {
    let limits = Limits::default();
    let all: Vec<Unauthenticated> =
        std::iter::from_fn(|| limits.unauthenticated(HERE, Listener::Web)).collect();
    assert_eq!(all.len(), SOCKETS - RESERVED);
    all.iter().for_each(Unauthenticated::release);
    assert!(limits.unauthenticated(HERE, Listener::App).is_none());
    let local: Vec<_> = std::iter::from_fn(|| limits.unauthenticated(HERE, Listener::Loopback)).collect();
    assert_eq!(local.len(), RESERVED, "reserved for this machine");
    drop(all);
    assert!(limits.unauthenticated(HERE, Listener::Web).is_some());
}

#[test]
fn delayed_refusals_are_bounded() {
    let limits = Limits::default();
    let mut waiting: Vec<_> = std::iter::from_fn(|| limits.delayed_refusal(HERE)).collect();
    assert_eq!(waiting.len(), REFUSALS_PER_ADDRESS);
    waiting.extend((0..100).filter_map(|n| limits.delayed_refusal(IpAddr::from([10, 0, 0, n]))));
    assert_eq!(waiting.len(), REFUSALS);
    assert!(SOCKETS > TOTAL + UNAUTHENTICATED + waiting.len());
}
