use super::{unauthenticated::UNAUTHENTICATED_PER_ADDRESS, *};
use std::collections::VecDeque;

const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

#[test]
fn an_address_has_sixty_four_places() {
    let limits = Limits::default();
    let address = IpAddr::from([127, 0, 0, 1]);
    let places: Vec<ConnectionSlot> = std::iter::from_fn(|| limits.ios(address)).collect();
    assert_eq!(places.len(), PER_DEVICE);
    assert!(limits.ios(IpAddr::from([127, 0, 0, 2])).is_some());
    drop(places);
    assert!(limits.ios(address).is_some());
}

#[test]
fn a_device_has_sixty_four_places_and_this_machine_all() {
    let limits = Limits::default();
    let device = Who::Device("a".into());
    let places: Vec<ConnectionSlot> = std::iter::from_fn(|| limits.acp(&device)).collect();
    assert_eq!(places.len(), PER_DEVICE);
    let local: Vec<ConnectionSlot> = std::iter::from_fn(|| limits.acp(&Who::Local)).collect();
    assert_eq!(local.len(), TOTAL - PER_DEVICE);
    assert!(limits.acp(&Who::Device("b".into())).is_none());
    drop(places);
    assert!(limits.acp(&Who::Device("b".into())).is_some());
    // What was refused holds nothing back.
    assert_eq!(limits.devices.len(), 0);
}

#[test]
fn what_counts_as_one_address() {
    for (address, expected) in [
        ("192.168.1.9", "192.168.1.9"),
        ("::ffff:192.168.1.9", "192.168.1.9"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2::", "2001:db8:1:2::"),
        // On the own network each is a computer.
        ("fe80::1", "fe80::1"),
        ("fd12:3:4:5::6", "fd12:3:4:5::6"),
    ] {
        let address: IpAddr = address.parse().unwrap();
        assert_eq!(one_address(address).to_string(), expected, "{address}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_crowd_at_one_address_does_no_harm_to_others() {
    let limits = Limits::default();
    let (crowd, other) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
    let quiet = limits.unauthenticated(other, Listener::Web).unwrap();
    // Each one that is cut has gone before the next one comes.
    let mut kept = VecDeque::new();
    for _ in 0..10_000 {
        kept.push_back(limits.unauthenticated(crowd, Listener::Web).unwrap());
        if kept.len() > UNAUTHENTICATED_PER_ADDRESS {
            kept.pop_front().unwrap().overstayed().await;
        }
    }
    assert!(!quiet.makes_room());
    // A crowd at many addresses takes from the one that has most.
    let many: Vec<_> = (0..300u16)
        .filter_map(|n| limits.unauthenticated(Ipv6Addr::new(1, 2, 3, n, 0, 0, 0, 0).into(), Listener::Web))
        .collect();
    assert_eq!((many.len(), limits.unauthenticated_of_network.len()), (300, UNAUTHENTICATED));
    assert!(kept[0].makes_room());
}

#[tokio::test(start_paused = true)]
async fn idle_strangers_never_make_a_friend_wait() {
    let limits = Limits::default();
    let idle: Vec<Unauthenticated> =
        (0..120).filter_map(|_| limits.unauthenticated(HERE, Listener::Web)).collect();
    let friend = limits.unauthenticated(HERE, Listener::Web).unwrap();
    assert!(!friend.makes_room());
    for unauthenticated in &idle[..120 - UNAUTHENTICATED_PER_ADDRESS + 1] {
        unauthenticated.overstayed().await;
    }
    assert_eq!(limits.unauthenticated_of_network.len(), UNAUTHENTICATED_PER_ADDRESS);
    drop(idle);
    assert_eq!(limits.unauthenticated_of_network.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_friend_may_stay() {
    let limits = Limits::default();
    let friend = limits.unauthenticated(HERE, Listener::Web).unwrap();
    friend.leave();
    let crowd: Vec<_> = std::iter::from_fn(|| limits.unauthenticated(HERE, Listener::Web)).collect();
    let stayed = tokio::time::timeout(UNAUTHENTICATED_TIME * 10, friend.overstayed()).await;
    assert!(stayed.is_err());
    crowd.last().unwrap().overstayed().await;
}

#[tokio::test(start_paused = true)]
async fn who_was_sent_away_goes_unless_it_turns_out_to_be_a_friend() {
    let limits = Limits::default();
    let come = || limits.unauthenticated(HERE, Listener::Web).unwrap();
    let (unauthenticated, friend) = (come(), come());
    unauthenticated.send_away();
    friend.send_away();
    friend.leave();
    unauthenticated.overstayed().await;
    assert!(tokio::time::timeout(UNAUTHENTICATED_TIME * 10, friend.overstayed()).await.is_err());
}

/// A refused request freed the place of a connection that went on for many seconds.
#[tokio::test(start_paused = true)]
async fn a_connection_of_many_requests_keeps_its_place_when_one_is_refused() {
    let limits = Limits::default();
    let unauthenticated = limits.unauthenticated(HERE, Listener::Web).unwrap();
    unauthenticated.has_more_requests();
    unauthenticated.send_away();
    assert_eq!(limits.unauthenticated_of_network.len(), 1);
    let begun = tokio::time::Instant::now();
    unauthenticated.overstayed().await;
    assert_eq!(begun.elapsed(), UNAUTHENTICATED_TIME);
    drop(unauthenticated);
    assert_eq!(limits.unauthenticated_of_network.len(), 0);
}

/// A poll made a connection a friend for ever.
#[tokio::test(start_paused = true)]
async fn a_guest_is_a_stranger_again_after_its_poll() {
    let limits = Limits::default();
    let come = || limits.unauthenticated(HERE, Listener::Web).unwrap();
    let (one, two) = (come(), come());
    let (guest, second) = (one.be_guest(), one.be_guest());
    let crowd: Vec<_> = (0..100).map(|_| come()).collect();
    assert!(!one.makes_room() && two.makes_room());
    assert!(tokio::time::timeout(UNAUTHENTICATED_TIME * 10, one.overstayed()).await.is_err());
    drop(guest);
    assert!(tokio::time::timeout(UNAUTHENTICATED_TIME * 10, one.overstayed()).await.is_err());
    drop(second);
    let begun = tokio::time::Instant::now();
    one.overstayed().await;
    assert_eq!(begun.elapsed(), UNAUTHENTICATED_TIME);
    let _next = come();
    assert!(one.makes_room());
    drop(crowd);
}

/// Any token made any number of connections friends, which outlived the device.
#[tokio::test(start_paused = true)]
async fn the_sockets_of_a_device_are_counted_and_end_with_it() {
    let limits = Limits::default();
    let pass = |id: &str| Pass::new(Who::Device(id.into()), crate::access::Scope::View, id);
    let (phone, tablet) = (pass("phone"), pass("tablet"));
    let come = || limits.unauthenticated(HERE, Listener::Web).unwrap();
    let sockets: Vec<_> = (0..SOCKETS_PER_DEVICE).map(|_| come()).collect();
    assert!(sockets.iter().all(|socket| limits.authenticate(socket, &phone)));
    assert!(limits.authenticate(&sockets[0], &phone), "counted once");
    let (one_more, other) = (come(), come());
    assert!(!limits.authenticate(&one_more, &phone) && limits.authenticate(&other, &tablet));
    assert!(tokio::time::timeout(UNAUTHENTICATED_TIME * 10, sockets[0].overstayed()).await.is_err());
    phone.revoked.cancel();
    sockets[0].overstayed().await;
    assert!(tokio::time::timeout(UNAUTHENTICATED_TIME * 10, other.overstayed()).await.is_err());
    drop(sockets);
    assert!(limits.authenticate(&one_more, &phone));
}

#[test]
fn a_crowd_on_the_network_takes_no_place_of_this_machine() {
    let limits = Limits::default();
    let own = limits.unauthenticated(HERE, Listener::Loopback).unwrap();
    let address = |n: u16| IpAddr::from((0x0A00_0000 + u32::from(n)).to_be_bytes());
    let crowd: Vec<_> = (0..1_000).map(|n| limits.unauthenticated(address(n), Listener::Web)).collect();
    assert!(!own.makes_room() && crowd.iter().flatten().any(Unauthenticated::makes_room));
}

#[test]
fn every_socket_counts_until_it_is_gone() {
    let limits = Limits::default();
    let all: Vec<Unauthenticated> =
        std::iter::from_fn(|| limits.unauthenticated(HERE, Listener::Web)).collect();
    assert_eq!(all.len(), SOCKETS - RESERVED);
    all.iter().for_each(Unauthenticated::leave);
    assert!(limits.unauthenticated(HERE, Listener::App).is_none());
    let local: Vec<_> = std::iter::from_fn(|| limits.unauthenticated(HERE, Listener::Loopback)).collect();
    assert_eq!(local.len(), RESERVED, "the network leaves some to this machine");
    drop(all);
    assert!(limits.unauthenticated(HERE, Listener::Web).is_some());
}

#[test]
fn refusals_that_wait_are_few() {
    let limits = Limits::default();
    let mut waiting: Vec<_> = std::iter::from_fn(|| limits.refusal(HERE)).collect();
    assert_eq!(waiting.len(), REFUSALS_PER_ADDRESS);
    waiting.extend((0..100).filter_map(|n| limits.refusal(IpAddr::from([10, 0, 0, n]))));
    assert_eq!(waiting.len(), REFUSALS);
    assert!(SOCKETS > TOTAL + UNAUTHENTICATED + waiting.len());
}
