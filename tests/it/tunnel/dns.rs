//! A name server for the names of stand-ins: all of them are this machine.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hickory_proto::op::{Message, MessageType, OpCode, ResponseCode};
use hickory_proto::rr::rdata::A;
use hickory_proto::rr::{RData, Record};

/// Runs until the test is over, which is a process of its own.
pub(crate) struct Dns {
    address: SocketAddr,
    asked: Arc<AtomicUsize>,
}

impl Dns {
    /// Knows no name the first so many times it is asked.
    pub(crate) fn start(unknown: usize) -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = socket.local_addr().unwrap();
        let asked = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&asked);
        std::thread::spawn(move || {
            let mut packet = [0; 512];
            while let Ok((length, from)) = socket.recv_from(&mut packet) {
                let question = Message::from_vec(&packet[..length]).unwrap();
                let mut answer = Message::new(question.metadata.id, MessageType::Response, OpCode::Query);
                answer.add_queries(question.queries.clone());
                if count.fetch_add(1, Ordering::SeqCst) < unknown {
                    answer.metadata.response_code = ResponseCode::NXDomain;
                } else {
                    let name = question.queries[0].name().clone();
                    answer.add_answer(Record::from_rdata(name, 60, RData::A(A(Ipv4Addr::LOCALHOST))));
                }
                socket.send_to(&answer.to_vec().unwrap(), from).unwrap();
            }
        });
        Self { address, asked }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// How often it was asked.
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}
