use super::{strangers::STRANGERS_PER_ADDRESS, *};
use std::collections::VecDeque;

const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

#[test]
fn an_address_has_sixty_four_places() {
    let limits = Limits::default();
    let address = IpAddr::from([127, 0, 0, 1]);
    let places: Vec<Place> = std::iter::from_fn(|| limits.ios(address)).collect();
    assert_eq!(places.len(), PER_DEVICE);
    assert!(limits.ios(IpAddr::from([127, 0, 0, 2])).is_some());
    drop(places);
    assert!(limits.ios(address).is_some());
}

#[test]
fn a_device_has_sixty_four_places_and_this_machine_all() {
    let limits = Limits::default();
    let device = Who::Device("a".into());
    let places: Vec<Place> = std::iter::from_fn(|| limits.acp(&device)).collect();
    assert_eq!(places.len(), PER_DEVICE);
    let local: Vec<Place> = std::iter::from_fn(|| limits.acp(&Who::Local)).collect();
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
    let quiet = limits.stranger(other, Listener::Web).unwrap();
    // Each one that is cut has gone before the next one comes.
    let mut kept = VecDeque::new();
    for _ in 0..10_000 {
        kept.push_back(limits.stranger(crowd, Listener::Web).unwrap());
        if kept.len() > STRANGERS_PER_ADDRESS {
            kept.pop_front().unwrap().overstayed().await;
        }
    }
    assert!(!quiet.makes_room());
    // A crowd at many addresses takes from the one that has most.
    let many: Vec<_> = (0..300u16)
        .filter_map(|n| limits.stranger(Ipv6Addr::new(1, 2, 3, n, 0, 0, 0, 0).into(), Listener::Web))
        .collect();
    assert_eq!((many.len(), limits.strangers_of_network.len()), (300, STRANGERS));
    assert!(kept[0].makes_room());
}

#[tokio::test(start_paused = true)]
async fn idle_strangers_never_make_a_friend_wait() {
    let limits = Limits::default();
    let idle: Vec<Stranger> = (0..120).filter_map(|_| limits.stranger(HERE, Listener::Web)).collect();
    let friend = limits.stranger(HERE, Listener::Web).unwrap();
    assert!(!friend.makes_room());
    for stranger in &idle[..120 - STRANGERS_PER_ADDRESS + 1] {
        stranger.overstayed().await;
    }
    assert_eq!(limits.strangers_of_network.len(), STRANGERS_PER_ADDRESS);
    drop(idle);
    assert_eq!(limits.strangers_of_network.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_friend_may_stay() {
    let limits = Limits::default();
    let friend = limits.stranger(HERE, Listener::Web).unwrap();
    friend.leave();
    let crowd: Vec<_> = std::iter::from_fn(|| limits.stranger(HERE, Listener::Web)).collect();
    let stayed = tokio::time::timeout(STRANGER_TIME * 10, friend.overstayed()).await;
    assert!(stayed.is_err());
    crowd.last().unwrap().overstayed().await;
}

#[tokio::test(start_paused = true)]
async fn who_was_sent_away_goes_unless_it_turns_out_to_be_a_friend() {
    let limits = Limits::default();
    let come = || limits.stranger(HERE, Listener::Web).unwrap();
    let (stranger, friend) = (come(), come());
    stranger.send_away();
    friend.send_away();
    friend.leave();
    stranger.overstayed().await;
    assert!(tokio::time::timeout(STRANGER_TIME * 10, friend.overstayed()).await.is_err());
}

/// A refused request freed the place of a connection that went on for many seconds.
#[tokio::test(start_paused = true)]
async fn a_connection_of_many_requests_keeps_its_place_when_one_is_refused() {
    let limits = Limits::default();
    let stranger = limits.stranger(HERE, Listener::Web).unwrap();
    stranger.has_more_requests();
    stranger.send_away();
    assert_eq!(limits.strangers_of_network.len(), 1);
    let begun = tokio::time::Instant::now();
    stranger.overstayed().await;
    assert_eq!(begun.elapsed(), STRANGER_TIME);
    drop(stranger);
    assert_eq!(limits.strangers_of_network.len(), 0);
}

/// A poll made a connection a friend for ever.
#[tokio::test(start_paused = true)]
async fn a_guest_is_a_stranger_again_after_its_poll() {
    let limits = Limits::default();
    let come = || limits.stranger(HERE, Listener::Web).unwrap();
    let (one, two) = (come(), come());
    let (guest, second) = (one.be_guest(), one.be_guest());
    let crowd: Vec<_> = (0..100).map(|_| come()).collect();
    assert!(!one.makes_room() && two.makes_room());
    assert!(tokio::time::timeout(STRANGER_TIME * 10, one.overstayed()).await.is_err());
    drop(guest);
    assert!(tokio::time::timeout(STRANGER_TIME * 10, one.overstayed()).await.is_err());
    drop(second);
    let begun = tokio::time::Instant::now();
    one.overstayed().await;
    assert_eq!(begun.elapsed(), STRANGER_TIME);
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
    let come = || limits.stranger(HERE, Listener::Web).unwrap();
    let sockets: Vec<_> = (0..SOCKETS_PER_DEVICE).map(|_| come()).collect();
    assert!(sockets.iter().all(|socket| limits.befriend(socket, &phone)));
    assert!(limits.befriend(&sockets[0], &phone), "counted once");
    let (one_more, other) = (come(), come());
    assert!(!limits.befriend(&one_more, &phone) && limits.befriend(&other, &tablet));
    assert!(tokio::time::timeout(STRANGER_TIME * 10, sockets[0].overstayed()).await.is_err());
    phone.revoked.cancel();
    sockets[0].overstayed().await;
    assert!(tokio::time::timeout(STRANGER_TIME * 10, other.overstayed()).await.is_err());
    drop(sockets);
    assert!(limits.befriend(&one_more, &phone));
}

#[test]
fn a_crowd_on_the_network_takes_no_place_of_this_machine() {
    let limits = Limits::default();
    let own = limits.stranger(HERE, Listener::Loopback).unwrap();
    let address = |n: u16| IpAddr::from((0x0A00_0000 + u32::from(n)).to_be_bytes());
    let crowd: Vec<_> = (0..1_000).map(|n| limits.stranger(address(n), Listener::Web)).collect();
    assert!(!own.makes_room() && crowd.iter().flatten().any(Stranger::makes_room));
}

#[test]
fn every_socket_counts_until_it_is_gone() {
    let limits = Limits::default();
    let all: Vec<Stranger> = std::iter::from_fn(|| limits.stranger(HERE, Listener::Web)).collect();
    assert_eq!(all.len(), SOCKETS - RESERVED);
    all.iter().for_each(Stranger::leave);
    assert!(limits.stranger(HERE, Listener::App).is_none());
    let local: Vec<_> = std::iter::from_fn(|| limits.stranger(HERE, Listener::Loopback)).collect();
    assert_eq!(local.len(), RESERVED, "the network leaves some to this machine");
    drop(all);
    assert!(limits.stranger(HERE, Listener::Web).is_some());
}

#[test]
fn refusals_that_wait_are_few() {
    let limits = Limits::default();
    let mut waiting: Vec<_> = std::iter::from_fn(|| limits.refusal(HERE)).collect();
    assert_eq!(waiting.len(), REFUSALS_PER_ADDRESS);
    waiting.extend((0..100).filter_map(|n| limits.refusal(IpAddr::from([10, 0, 0, n]))));
    assert_eq!(waiting.len(), REFUSALS);
    assert!(SOCKETS > TOTAL + STRANGERS + waiting.len());
}
